"""The starter list: what asks before it runs, because it destroys, publishes, reads credentials, runs what came from
the network, escalates, persists, or switches a guard off. Data in the language of `wrappers.py`, one line each."""

from functools import lru_cache
from typing import Literal

from rightcall.policy.commands.runs import only_looks
from rightcall.policy.commands.wrappers import Pattern, compiled

Kind = Literal["destroys", "publishes", "credentials", "network", "escalates", "persists", "guards", "runs"]

WHY: dict[str, str] = {
    "destroys": "can destroy something that cannot be brought back",
    "publishes": "changes or sends something outside this machine",
    "credentials": "reads credentials",
    "network": "runs code that comes from the network",
    "escalates": "acts with more rights, or takes a protection away",
    "persists": "changes what is started later, or the system",
    "guards": "changes what guards these calls",
    "runs": "runs code that cannot be judged beforehand",
}

_LISTS: dict[Kind, str] = {
    "destroys": """
        git reset --hard
        git reset --merge|--keep
        git clean -f|--force
        git checkout -f|--force
        git checkout .|:/
        git switch -f|--force|--discard-changes
        git branch -D
        git branch -d -f|--force
        git branch -d|--delete -r|--remotes
        git branch -f|--force
        git tag -d|--delete|-f|--force
        git stash drop|clear
        git reflog expire|delete
        git filter-branch|filter-repo
        git gc --prune*
        git prune
        git update-ref
        git checkout -B
        git switch -C|--force-create
        git rm -f|--force
        git worktree remove -f|--force
        git submodule deinit
        git rebase --root
        git checkout-index -f|-a
        git read-tree --reset|-u
        git lfs prune
        git lfs migrate import|export
        memcflush|memcrm
        git replace -d|--delete|-f|--force
        git notes remove|prune
        git repack --unpack-unreachable*
        git apply --unsafe-paths
        git annex drop|forget
        hg strip|purge
        hg update -C|--clean
        svn revert|delete|rm
        jj abandon
        bfg *
        shred|srm|wipe|scrub|wipefs|blkdiscard|sgdisk
        trash-empty
        fdisk|parted|sfdisk|cfdisk|gdisk|gparted
        mkswap|lvremove|vgremove|pvremove|lvreduce|cryptsetup|mdadm|zfs|zpool|hdparm|badblocks|tune2fs|debugfs
        diskutil erase*|partition*|reformat|secureErase|apfs
        tmutil delete|disable
        shutdown|reboot|halt|poweroff|init|telinit
        docker system prune
        docker volume|image|container|network|builder|buildx prune
        docker volume|image|network|secret|config|stack|service|swarm|node|context|plugin rm|remove
        docker rmi
        docker rm
        docker container rm|kill
        docker kill
        docker compose down -v|--volumes|--rmi
        docker compose rm
        docker-compose down -v|--volumes|--rmi
        docker-compose rm
        docker swarm leave
        podman system|volume|image|container|pod|network prune|reset|rm
        fuser -k|--kill
        podman rm|rmi|kill
        podman stop|restart|pause -a|--all
        nerdctl rm|rmi|system|volume
        crictl rm|rmi|rmp
        vagrant destroy
        multipass delete|purge
        virsh destroy|undefine|vol-delete|pool-delete
        VBoxManage|vboxmanage unregistervm|closemedium
        minikube|kind|k3d delete
        minikube|kind|k3d cluster delete
        crontab -r
        apt|apt-get|aptitude remove|purge|autoremove|autopurge|dist-upgrade|full-upgrade
        yum|dnf|zypper|microdnf remove|erase|autoremove
        pacman -R*
        apk del
        rpm -e
        dpkg -r|-P|--remove|--purge
        brew uninstall|remove|rm|autoremove|untap
        snap|flatpak remove|uninstall
        winget|choco|scoop uninstall
        pip|pip3 uninstall
        uv pip uninstall
        conda|mamba|micromamba remove|uninstall
        conda|mamba|micromamba env remove
        npm uninstall|remove|rm|un -g|--global
        cargo uninstall
        rustup self|toolchain uninstall|remove
        nvm|fnm|volta|pyenv|rbenv|asdf|mise|sdk uninstall
        dropdb|dropuser|pg_dropcluster
        mysqladmin drop|shutdown|flush*
        redis-cli --eval*|--pipe
        etcdctl del|rm
        consul kv delete
        influx delete|bucket
        rabbitmqctl|rabbitmqadmin reset|force_reset|delete*|purge*
        kafka-topics|kafka-topics.sh --delete
        rails|rake db:drop*|db:reset*|db:purge*|db:schema:load|db:migrate:reset|db:truncate_all|db:rollback
        alembic downgrade
        flyway clean|undo
        goose|dbmate|sql-migrate|migrate|golang-migrate ** down|down-to|reset|drop|redo
        sea-orm-cli migrate fresh|down|reset|refresh
        nomad job stop|purge|dispatch|revert
        railway|render|nhost ** down|delete
        liquibase dropAll|drop-all|rollback
        prisma migrate reset
        prisma db push --force-reset|--accept-data-loss
        sequelize|sequelize-cli db:drop|db:migrate:undo*
        knex migrate:rollback
        typeorm schema:drop
        drizzle-kit drop|push
        php artisan migrate:fresh|migrate:reset|migrate:refresh|migrate:rollback|db:wipe
        php artisan migrate|db:seed --force
        mix ecto.drop|ecto.reset|ecto.rollback
        manage.py|django-admin flush|reset_db|sqlflush
        python|python3 *manage.py flush|reset_db|sqlflush
        python|python3 *manage.py migrate ** zero
        kubectl|oc|k delete|drain|cordon|evict
        kubectl|oc|k replace --force
        helm uninstall|delete|rollback|del
        argocd app delete|terminate-op|rollback
        flux delete|uninstall|suspend
        terraform|tofu|terragrunt destroy|taint|untaint|refresh|force-unlock
        velero restore|backup create|delete
        kafka-consumer-groups|kafka-consumer-groups.sh --reset-offsets --execute
        celery ** purge|shutdown
        rq empty
        airflow tasks clear
        p4 submit|revert
        nvme format|sanitize
        supabase migration repair|down
        terraform|tofu|terragrunt state rm|mv|push|replace-provider
        terraform|tofu|terragrunt workspace delete
        terraform|tofu|terragrunt apply -destroy|--destroy
        pulumi destroy|cancel
        pulumi stack rm
        pulumi state delete
        cdk|cdktf|sam|sst|amplify|eb|copilot|chalice|zappa destroy|delete|remove|undeploy|terminate
        serverless|sls remove
        aws s3 rm|rb|mv
        aws s3 sync --delete
        aws s3api delete-*|put-bucket-*
        aws ** delete-*|terminate-*|remove-*|destroy-*|purge-*|deregister-*|cancel-*|revoke-*|reset-*|stop-*|reboot-*
        gsutil rm|rb|mv
        gsutil ** rsync -d
        gcloud ** delete|remove|destroy|reset|stop|disable|undelete|abandon-instances
        gcloud ** remove-*|delete-*
        gcloud storage rm|mv
        bq rm
        az ** delete|purge|remove|stop|deallocate|revoke
        az ** delete-*|purge-*|remove-*
        doctl ** delete|destroy|rm|d
        linode-cli ** delete
        hcloud ** delete
        scw ** delete|terminate
        ibmcloud|oci|aliyun|openstack ** delete|rm|terminate|remove
        heroku ** destroy
        heroku apps:destroy|pg:reset|addons:destroy|pg:credentials:destroy|releases:rollback
        fly|flyctl ** destroy|delete|rm
        vercel rm|remove
        netlify sites:delete
        firebase ** delete
        firebase firestore:delete|projects:delete|hosting:disable|functions:delete|database:remove
        wrangler delete|rollback
        wrangler ** delete
        supabase db reset
        supabase projects delete
        gh ** delete
        gh repo archive|rename
        glab ** delete
        rclone delete|deletefile|purge|rmdir|rmdirs|cleanup|move|moveto|dedupe|sync
        mc rm|rb
        mc mirror --remove|--overwrite
        s3cmd|s5cmd del|rb|rm
        b2 delete*|hide-file
        restic forget|prune
        borg delete|prune|compact
        duplicity remove*|cleanup
        rsync --delete*|--remove-source-files
        zip -m|--move
        7z|7za|7zz -sdel
        dotnet ef database drop|update
        del|erase|rd|deltree|format|diskpart|bcdedit|vssadmin|wbadmin|cipher|fsutil|sdelete
        hdfs|hadoop ** -rm|-rmr|-rmdir|-expunge
        postsuper|postcat -d
        exim|exim4 -Mrm|-Mg
        e2fsck|fsck|fsck.ext4|xfs_repair -y|-p|-a
        resize2fs|growpart|xfs_growfs|flashrom|badblocks *
        hdiutil erasekeys|resize
        logrotate -f|--force
        rvm implode
        gem|luarocks|choco|scoop|winget|asdf|mise|pyenv|rbenv|nvm|fnm|volta uninstall
        pm2 kill
        nginx -s
        scancel *
        ray stop
        nats stream|kv|object|consumer rm|purge|del|delete
        robocopy ** /mir|/MIR|/purge|/PURGE|/move|/MOVE|/mov|/MOV
        reg delete
        schtasks /delete
        taskkill /f|/F
        wmic ** delete
        takeown|icacls *
        clear-content|clear-item|clear-recyclebin|format-volume|clear-disk|initialize-disk *
        remove-partition|remove-volume|remove-itemproperty|stop-computer|restart-computer|remove-aduser|remove-vm *
        clear-disk|format-volume|stop-computer|restart-computer|clear-recyclebin
        stop-process|spps -force|-Force
        launchctl remove|bootout|unload
        dscl . -delete
        userdel|groupdel|deluser|delgroup
        wp db reset|drop|clean
        wp ** delete
        composer global remove
        jupyter kernelspec remove|uninstall
        dvc gc|destroy
        mlflow gc
        wandb artifact|sweep cache|rm
        nix-collect-garbage -d|--delete-old
        nix store gc|delete
        adb uninstall|wipe|reboot
        adb shell rm|wipe|pm
        fastboot erase|flash*|format|oem
        xcrun simctl erase|delete
    """,
    "publishes": """
        git push
        git send-email
        git send-pack|http-push
        git daemon|instaweb|http-backend
        git request-pull
        git svn dcommit
        git p4 submit
        git lfs push
        git subtree push
        git cl upload|land
        hg|jj push
        jj git push
        svn commit|ci|import
        npm|yarn|pnpm|bun|lerna|jsr|deno|vsce|ovsx publish|unpublish|deprecate|dist-tag
        npm|yarn|pnpm|bun|lerna|jsr|deno|vsce|ovsx owner|access|star|hook|version-publish
        npm|yarn|pnpm npm publish
        yarn npm publish
        npm profile|team|org|token|adduser|login|logout
        yarn|pnpm login|logout
        lerna version
        changeset|changesets publish
        semantic-release|release-it|np|standard-version|auto|shipit|gh-pages|surge|now
        twine upload|register
        goreleaser|release-please|cargo-release
        cargo release
        python|python3 *setup.py ** upload|register
        pastebinit|wgetpaste|fpaste|pastebin|termbin|gist|ffsend|0x0|dpaste|haste *
        pastebinit|wgetpaste|fpaste|termbin|gist|haste
        flit|poetry|pdm|hatch|uv|rye|maturin publish|upload
        maturin upload
        cargo publish|yank|owner|login
        gem push|yank|owner
        rake release
        bundle exec rake release
        mix hex.publish
        mvn|mvnw ** deploy|release:perform|release:prepare|*:deploy
        gradle|gradlew ** publish*|*:publish*|upload*|release|deploy|bintrayUpload|appDistributionUpload*
        sbt publish*|release
        dotnet nuget push|delete
        dotnet publish -p:PublishProfile*|-p:DeployOnBuild*|-t:PublishContainer
        dotnet publish ** /p:PublishProfile*|/p:DeployOnBuild*|/t:PublishContainer
        nuget push|delete
        pod trunk|repo push|delete
        pod trunk push
        conan upload
        luarocks upload
        dart|flutter pub publish
        charm|snapcraft upload|push|release
        fastlane ** release*|deliver|pilot|supply|beta|deploy*|upload*|publish*|submit*|production|nuke
        helm push|install|upgrade
        helmfile ** sync|apply|charts
        helm repo|registry login
        docker|podman|nerdctl|buildah|skopeo push|login|copy
        docker|podman image|manifest push
        docker compose push
        docker build|buildx --push
        docker stack|service deploy|create|update|scale
        docker context create
        crane|oras|regctl|cosign push|copy|attach|sign|cp|append
        ko apply|publish|resolve
        gh pr create|merge|close|comment|edit|review|ready|reopen|lock|unlock|update-branch|revert
        gh issue create|close|comment|edit|delete|reopen|transfer|lock|pin
        gh release create|upload|edit|delete*
        gh repo create|fork|edit|sync|deploy-key|rename
        gh gist create|edit
        gh workflow run|enable|disable
        gh run rerun|cancel
        gh secret|variable set|remove
        gh label create|edit|clone
        gh project create|edit|close|item-*|field-*|copy|link
        gh ssh-key|gpg-key add
        gh extension|alias|config install|set|import|exec|upgrade
        gh codespace create|ssh|cp|delete
        gh ruleset|org|cache delete
        gh auth login|logout|refresh|setup-git|switch
        glab mr|issue|release|repo|snippet create|merge|close|note|update|approve|upload|fork
        glab ci run|trigger|retry|delete
        glab variable|schedule|label set|update|create|delete
        sshfs *
        xcrun altool|notarytool
        firebase appdistribution:distribute
        hub pull-request|create|push|release|merge|fork|issue
        tea pr|issue|release create|merge|close
        kubectl|oc|k apply|create|patch|edit|scale|autoscale|expose|run
        kubectl|oc|k set|label|annotate|taint|cp|attach|debug|uncordon
        kubectl|oc|k rollout restart|undo|pause|resume
        kubectl|oc|k replace
        kubectl|oc|k certificate approve|deny
        skaffold run|deploy|delete
        nomad job run
        kubectl|oc|k auth reconcile
        argocd app sync|create|set|patch
        argocd login
        flux bootstrap|create|reconcile|resume
        istioctl install|upgrade|uninstall
        eksctl create|delete|upgrade|scale
        kops create|update|delete|edit|replace
        kubeadm *
        terraform|tofu|terragrunt apply|import|login
        terragrunt run-all apply
        packer build
        pulumi up|import|refresh
        cdk deploy|bootstrap|import
        cdktf deploy
        sam|sst|amplify|eb|copilot|chalice|zappa|now|up|apex|architect|arc deploy|publish|push|init|create|update
        serverless|sls deploy|invoke
        vercel deploy|alias|promote|rollback|dns|domains|secrets
        vercel env add|rm|pull
        vercel --prod
        netlify deploy|env:set|sites:create
        fly|flyctl ssh|sftp|console|postgres|proxy
        fly|flyctl deploy|launch|secrets|scale|apps|machine|volumes|certs
        heroku *:*|create|destroy|run|scale|restart|config|git|container|domains|addons|maintenance|rollback|login|auth
        firebase deploy|functions:config:set|database:set|database:update|database:push|auth:import
        onionshare *
        autossh -R|-D
        wrangler deploy|publish|secret|kv:key|r2|d1|pages
        railway up|deploy|run|redeploy|variables
        render deploys|services
        dokku|caprover|kamal|mrsk|capistrano|dpl|deployer|mina|ansible|ansible-pull|ansible-playbook *
        cap production|staging|prod|*deploy*
        salt|salt-ssh|chef-client|knife *
        puppet apply|agent
        supabase db|functions|secrets push|deploy|set|remote
        expo|eas publish|submit|update|build|upload
        appcenter|codepush|code-push release*|distribute
        aws s3 mb|website|presign
        aws ** create-*|put-*|update-*|run-*|start-*|invoke
        aws ** invoke-*|publish*|send-*|attach-*|detach-*|modify-*|associate-*
        aws ** authorize-*|register-*|import-*|restore-*|execute-*|enable-*|disable-*|copy-*|add-*|set-*|tag-*
        aws cloudformation|deploy deploy|push|package
        gsutil mb|acl|iam|setmeta|web
        gcloud ** create|deploy|update|add-*|set-*|enable|import|restore|patch|submit|start|resize|publish|ssh|scp|call
        bq load|insert|mk|update|cp
        az ** create|update|set|add|deploy|start|restart|import|upload|upload-batch|invoke|up|restore|assign
        doctl ** create|update|deploy
        oci|aliyun|openstack|ibmcloud|scw|hcloud|linode-cli ** create|update|put|launch
        rclone rcat|bisync|mount|serve
        mc mirror|mv|pipe|share
        s3cmd|s5cmd put|mv|mb
        azcopy *
        b2 upload*|sync|file
        sftp|ftp|lftp|ncftpput|tftp|rcp|croc|wormhole|magic-wormhole|transfer *
        sftp|ftp|telnet|rlogin|rsh
        socat|telnet *
        mail|mailx|sendmail|mutt|msmtp|swaks|ssmtp *
        ngrok|localtunnel|lt|cloudflared|tailscale|bore|frpc|serveo|zrok|pagekite *
        ipfs add|pin|name
        slackcat|slack|telegram-send|ntfy|pushover|twurl|toot|discord *
        twilio|sendgrid|mailgun *
        stripe ** create|update|delete|cancel|confirm|capture|refund|post|trigger|fixtures|login
        mlflow deployments|models create|update|serve
        huggingface-cli|hf upload|upload-large-folder|repo|repo-files|login|delete-cache
        wandb login|sync|artifact|launch
        kaggle datasets|competitions|kernels create|submit|push|version
        dvc push
        clearml-task|neptune|comet|modal|sky *
        databricks|snowsql|dbt-cloud *
        gitleaks|trufflehog|sonar-scanner --upload
        sentry-cli *
        codecov|coveralls
        act --secret*
        crowdin|tx|lokalise2 upload|push
        choco|nuget|paket push
        nix copy
        azd up|deploy|provision|down
        jira ** create|move|assign|edit|comment|delete
        web-ext sign
        write|wall *
        invoke-restmethod|invoke-webrequest|irm|iwr|curl -method|-Method|-body|-Body|-infile|-InFile
        send-mailmessage|publish-module|publish-script *
    """,
    "credentials": """
        direnv export|dump
        aws configure get|export-credentials|list
        aws sts get-session-token|assume-role*|get-federation-token
        aws secretsmanager|ssm get-secret-value|get-parameter*|batch-get*
        aws iam create-access-key|list-access-keys
        aws ecr|ecr-public|codeartifact|rds|eks get-login*|get-authorization-token|generate-db-auth-token|get-token
        aws sso|sso-oidc get-role-credentials
        aws kms decrypt
        gcloud auth print-*|login|activate-*|application-default|revoke|configure-docker
        gcloud secrets versions access
        gcloud config config-helper
        gcloud iam service-accounts keys
        az account get-access-token
        az ** keys|credential|generate-sas|create-for-rbac|get-credentials|show-connection-string
        az keyvault secret|key|certificate show|download|backup
        az login
        doctl auth|registry token|login|init
        gh auth token
        gh auth status -t|--show-token
        glab auth|config status|get
        security find-*|dump-keychain|export|unlock-keychain|add-*|delete-*
        secret-tool lookup|search|store|clear
        kwallet-query|seahorse|gnome-keyring *
        pass|gopass show|ls|grep|find|otp|git|edit
        pass *
        op read|item|document|signin|get|inject|list
        bw|bitwarden get|list|export|unlock|login
        lpass show|export|ls
        keepassxc-cli|kpcli show|export|clip|attachment-export|ls
        vault read|kv|login|token|write|print|list|unwrap|operator|delete
        doppler secrets|configs
        infisical secrets|export
        chamber read|export|list|env
        sops -d|--decrypt
        sops decrypt|exec-env|exec-file|edit
        age|rage -d|--decrypt
        ansible-vault view|decrypt|edit|rekey
        git credential fill|approve|reject
        git credential-*
        git-credential-store|git-credential-cache|git-credential-osxkeychain|git-credential-manager *
        kubectl|oc|k get|describe|edit *secret*
        kubectl|oc|k config view --raw
        kubectl|oc|k *secret*
        aws lambda get-function*
        kubectl|oc|k create token
        kubectl|oc whoami -t|--show-token
        helm get values|all
        docker secret|config inspect
        docker exec ** env|printenv
        gpg|gpg2 --export-secret-keys|--export-secret-subkeys|--export-secret*|-d|--decrypt|--delete-secret*
        ssh-keygen -y|-e|-p
        ssh-add -L|-D|-d
        openssl rsa|pkey|ec|pkcs12|pkcs8|genrsa|dsa|rsautl|pkeyutl
        keytool -exportcert|-list|-importkeystore|-storepasswd
        certutil|security -d|-K
        mimikatz|lazagne|hashcat|john|secretsdump|secretsdump.py|responder|hydra|pypykatz|linpeas|linpeas.sh *
        getent shadow|gshadow
        heroku config
        heroku config:get|auth:token|pg:credentials:url
        vercel env pull
        netlify env:get|env:list
        fly|flyctl auth|tokens token|create|list
        firebase login:ci|functions:config:get
        npm token
        npm config get *token*|*password*|*_auth*
        yarn config get *Token*|*token*|*Auth*|*auth*
        rclone config show|dump
        terraform|tofu output -json|-raw|--json|--raw
        terraform|tofu state pull|show
        pulumi config|stack get|output|export --show-secrets
        pulumi config get
        rails credentials:show|credentials:edit
        rake secret
        cmdkey|vaultcmd /list|/listcreds
        get-childitem|get-item|get-content env:*|Env:*|ENV:*
        get-credential|get-secret|convertfrom-securestring *
        history|fc
        systemctl show-environment
        keyctl print|pipe|read
        tcpdump|tshark|wireshark|ettercap|dsniff|ngrep|bettercap *
        pbpaste|wl-paste|get-clipboard|screencapture|scrot|xwd
        xsel -o|--output
        terraform|tofu show -json|--json
        pulumi config --show-secrets
        dscl . -read
        nmcli ** -s|--show-secrets
        wpa_passphrase *
        strings /proc/*
        gcore *
        huggingface-cli|hf whoami|auth token|list
        tailscale|headscale cert|preauthkeys
        launchctl getenv|export
    """,
    "network": """
        pip|pip3 install --trusted-host*
        gem install --clear-sources
        deno run|install|eval http:*|https:*
        deno run -A|--allow-all|--allow-run*
        nix run|shell|develop github:*|http:*|https:*|git+*
        nix-env -f|-if
        helm plugin install
        krew install
        kubectl krew install
        brew install http:*|https:*
        apt-key|add-apt-repository|apt-add-repository|rpmkeys|dnf-plugins *
        dpkg|rpm -i|--install|-U
        docker build|buildx http:*|https:*|git:*
        git clone ext::*
        git clone --upload-pack*|-u
        git clone --template*|-c|--config
        regsvr32|mshta|rundll32|certutil|bitsadmin|installutil|msiexec|wscript|cscript|hh *
        invoke-expression|iex *
        iex|invoke-expression
        osascript http:*
        curl2sh|cursh *
    """,
    "escalates": """
        sudo|doas|pkexec|su|runas|gsudo|sudoedit|visudo|run0|dzdo|please *
        sudo|su|doas
        chattr *
        setcap|capsh|setfacl *
        setenforce|aa-disable|aa-complain|aa-teardown|semanage *
        iptables|ip6tables|nft|ufw|firewall-cmd|pfctl|ipfw|netsh|ipset *
        ip ** add|del|delete|set|flush|change|replace|append
        nmcli ** up|down|add|modify|delete|disconnect|off|on|edit|clone|import|hotspot
        ifconfig ** up|down|add|del
        route add|del|delete|change|flush
        networksetup -set*|-add*|-remove*|-create*
        resolvectl dns|domain|flush-caches|revert
        powershell|pwsh -ExecutionPolicy|-executionpolicy|-ep|-Ep|-EP|-ex|-exec bypass|Bypass|unrestricted|Unrestricted
        sysctl -w|--write|-p|--load
        modprobe|insmod|rmmod|kexec|depmod *
        mount|umount|losetup|swapoff|swapon *
        useradd|usermod|groupadd|groupmod|adduser|addgroup|passwd *
        chpasswd|gpasswd|chsh|chfn|vipw|newgrp|dscl|sysadminctl *
        passwd|visudo|chpasswd|iptables-restore|ip6tables-restore
        mknod *
        chroot|nsenter|unshare|pivot_root *
        machinectl shell|login
        docker run --privileged|--pid*|--cap-add*|--device*|--security-opt*|--userns*|--ipc*|--uts*
        podman run --privileged
        docker exec --privileged
        docker plugin|swarm install|init|join
        gdb|lldb -p|--pid*
        strace|ltrace|ptrace -p
        xhost *
        xattr -d|-c|-w
        csrutil|spctl|nvram|kextload|tccutil *
        set-executionpolicy|enable-psremoting|add-mppreference|set-mppreference *
        net user|localgroup|share|stop|accounts
        disable-netadapter|disable-netfirewallrule|set-netfirewallprofile|stop-service|restart-service *
        remove-service|uninstall-module|uninstall-package|stop-vm|disable-localuser|set-localuser *
        kubectl|oc proxy|port-forward --address*
        gcloud ** add-iam-policy-binding|set-iam-policy
        aws iam|sts|organizations attach-*|put-*|add-*
        nmap|masscan|nikto|sqlmap|msfconsole|msfvenom|metasploit|gobuster|ffuf|wfuzz|dirb|aircrack-ng|arpspoof|hping3 *
        nc|ncat|netcat -e|-c|--exec|--sh-exec
        ssh -R|-D|-w|-A
    """,
    "persists": """
        at|batch|atrm *
        batch
        systemd-run *
        systemctl start|stop|restart|reload|enable|disable|mask
        systemctl unmask|daemon-reload|kill|edit|set-*|isolate|reset-failed|link
        systemctl reboot|poweroff|halt|suspend|hibernate
        systemctl rescue|emergency|import-environment|set-environment|revert|try-*
        systemctl reenable|preset*|add-*|daemon-reexec|default
        service ** start|stop|restart|reload
        rc-update|rc-service|chkconfig|update-rc.d|initctl|svcadm *
        supervisorctl start|stop|restart|reload|update|remove|shutdown
        launchctl load|bootstrap|enable|disable|kickstart|submit|setenv|start|stop
        brew services start|stop|restart|run
        loginctl enable-linger
        hostnamectl|timedatectl|localectl|update-alternatives|update-grub|grub-install|grub-mkconfig|dracut|bootctl *
        apt|apt-get|aptitude install|upgrade|update|dist-upgrade
        yum|dnf|zypper|microdnf|pacman|apk|emerge|xbps-install|eopkg install|update|upgrade|add|localinstall|distro-sync
        pacman -S*|-U*
        apk add
        snap|flatpak install|refresh|update
        port install|selfupdate
        softwareupdate -i|--install|-ia
        npm config set|delete|edit
        npm set *
        npm set-script *
        npm|pnpm|yarn|bun pkg set|delete scripts*|bin*
        yarn|pnpm config set
        pip|pip3 config set|edit|unset
        go env -w|-u
        cargo install --root
        conda|mamba config
        conda init
        docker plugin set|enable|disable
        kubectl|oc|k config set*|delete*|unset
        aws configure
        aws configure set|import|sso
        defaults write|delete|import
        dconf|gsettings write|set|reset|load
        xdg-mime|xdg-settings default|set
        chsh|mandb|fc-cache -s
        ssh-copy-id *
        ssh-keygen -R|-A
        ssh-add
        update-ca-certificates|update-ca-trust|trust|mkcert *
        security add-trusted-cert|authorizationdb|set-*
        schtasks|sc|reg|setx|new-service|register-scheduledtask|set-service|new-itemproperty|set-itemproperty *
        pm2 startup|save
        direnv|mise|asdf allow|trust|permit
        crudini|augtool *
        git lfs install --system
        git maintenance start|register
        pre-commit uninstall
        husky uninstall|add|set
        claude|gemini|codex mcp|config|plugin|plugins add*|remove|set|install|update
        code|cursor|code-insiders --install-extension|--uninstall-extension
        jupyter|ipython server|profile --allow-root
        brew tap
        npm link -g
        pip|pip3 install --break-system-packages
    """,
    "guards": """
        claude --dangerously-skip-permissions|--permission-mode|--allow-dangerously-skip-permissions
        codex --dangerously-bypass-approvals-and-sandbox|--yolo|--full-auto
        gemini|aider|amp|goose|cline|opencode --yolo|-y|--yes-always|--dangerously-allow-all
        auditctl|augenrules *
        unset HISTFILE
        history -c|-d|-w
        journalctl --vacuum*|--rotate|--flush
        wevtutil|clear-eventlog *
    """,
    "runs": """
        git difftool -x|--extcmd*
        git grep -O*|--open-files-in-pager*
        git archive --exec*
        git fetch|pull|clone|ls-remote|fetch-pack --upload-pack*|--exec*
        vim|vi|nvim|gvim|view|ex ** *!*
        wmic ** call
        forfiles ** /c|/C
        just --shell*
        aria2c --on-*
    """,
}


@lru_cache(1)
def _lines() -> dict[str, list[tuple[Kind, str]]]:
    """The lines by program. They are compiled when a command comes that they could mean: a hook judges one."""
    found: dict[str, list[tuple[Kind, str]]] = {}
    for kind, text in _LISTS.items():
        for line in text.split("\n"):
            if line := line.strip():
                for program in line.partition(" ")[0].casefold().split("|"):
                    found.setdefault(program, []).append((kind, line))
    return found


def programs() -> frozenset[str]:
    """Those that the list names."""
    return frozenset(_lines())


@lru_cache(512)
def _by_operand(program: str) -> dict[str, list[tuple[Kind, str]]]:
    """The lines of a program by the words that may come first; under "" those that any word can begin."""
    found: dict[str, list[tuple[Kind, str]]] = {}
    for kind, line in _lines().get(program, ()):
        first = next((word for word in line.split()[1:] if not word.startswith("-")), "")
        for choice in [""] if "*" in first else first.split("|"):
            found.setdefault(choice, []).append((kind, line))
    return found


def listed(program: str, arguments: list[str]) -> tuple[Kind, Pattern] | None:
    """The first line of the list that means a command; of several, the one that names most."""
    lines = _by_operand(program) if program in _lines() else None
    if not lines:
        return None
    found: tuple[Kind, Pattern] | None = None
    for word in ("", *dict.fromkeys(arguments)):
        for kind, line in lines.get(word, ()):
            pattern = compiled(line)
            if pattern.hits(program, arguments) and (found is None or len(pattern.options) > len(found[1].options)):
                found = kind, pattern
    return None if found is None or only_looks(program, arguments) else found
