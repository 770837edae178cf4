"""Words that mean something on their own in tool names: one of them is never a slip of the pen for another."""

_COMMON = """
    abort accept access account action activate active address alert align allow amount analyse analyze answer append
    apply approve archive arrange article assert assign assist attach audio author await backup balance battle begin
    block board books booking branch breadth break bring browse build bundle calendar call cancel capital capture card
    carry cause center change channel charge chart check child choose class clean clear clock clone close cloud code
    collect color column combine command comment commit compact company compare compile complete compose compress
    compute conduct confirm connect consume contact contain content contest context continue contract control convert
    cookie copy correct cost count country course cover create credit current cursor custom daily data date deactivate
    debit debug decline decode decompress decrease decrypt default defer define delay delete deliver demand deny depart
    deploy deposit depth describe desktop destroy detach detail detect device differ digest direct disable disallow
    discard disconnect dismiss dispatch display divert divide double download draft drain draw drive drop duplicate
    early edit eject email emit employ empty enable encode encrypt enlist enroll ensure enter entry equal error escape
    estimate evaluate event exact except exchange exclude execute exist exit expand expect expire explain export expose
    extend extent extern external extract faces factor fetch field figure filter final finish fixed flight float flush
    focus folder follow force forget format forward found frame freeze friend front generate grade grant graph green
    ground group guard guess guest handle header health height hidden history hotel house human ignore image import
    include increase index infer inform ingest inherit inject input inquire insert inspect install intern internal
    invert invest invite invoice invoke issue items joint keyword label large later launch layer learn leave length
    letter level light limit linear liner lines listen list load local locate location lock logic login logout lower
    manage match measure media member memory merge message meter method metric minute mobile model modify money monitor
    month motion mount mouse movie multiply music mute name native nearest network night north note notice notify number
    object offer office online open option order origin other output owner package panel parse partial party paste patch
    pause payment people period permit person phone photo picture place plane plant plate play player point policy pool
    popular port post power prefer prepare present press prevent preview price prime print private probe process produce
    product profile program project promote prompt propose protect provide public publish pull purchase push query quest
    queue quiet quite quote raise range rate rating reach react read ready rebuild recall receipt receive recent recipe
    record recover redeem redirect reduce refer refine reflect refresh refund refuse region register reject relate
    relation relay release reload remind remote remove rename render rent repair repeat replace replay reply report
    request require rerun resend reserve reset resize resolve resort resource respond rest restart restore result resume
    retail retain retire retrieve return reverse revert review revoke reward rewrite right ring role roll room root
    rotate round route row rule run safe sale sample save scale scan schedule schema scope score screen script search
    season seat second secret secure select sell send sender sense serve server service session setup shape share sheet
    shift ship shop short show shuffle sign signal simple single sink size skill skip slide slow small smart snap solve
    sort sound source south space span spawn speak speech speed spell spend split sport stack staff stage stamp standard
    start state static station statistic status stay step stock stop store story stream street string strip student
    study style submit subscribe subtract suggest sum summary supply support suspend switch symbol sync system table
    tail take target task team template term test text theme thing thread ticket time title today token tool topic total
    touch tower trace track trade traffic train transact transfer transform translate transmit transport trash travel
    treat trend trial trigger trim trip truck trust turn tweet type unarchive unassign unblock undo unfollow unfreeze
    uninstall unique unit unload unlock unmount unmute unpack unpin unpublish unregister unsubscribe untrack update
    upgrade upload upper user using valid validate value vector verify version video view visit voice volume vote wait
    wake walk wallet warn watch water weather website week weight west wheel white width window within word work worker
    world wrap write wrong year young zone
"""
COMMON = frozenset(_COMMON.split())
