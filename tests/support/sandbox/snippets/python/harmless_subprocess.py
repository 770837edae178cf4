"""Other programs, among them the interpreter itself."""

import subprocess
import sys

print(subprocess.run(["/bin/echo", "hello"], capture_output=True, text=True, check=True).stdout.strip())
done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True, check=False)
print(done.stdout.strip(), done.stderr, done.returncode)
sys.stdout.flush()
print(subprocess.run("echo one; exit 3", shell=True, check=False).returncode)
with subprocess.Popen(["sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as sort:
    print(sort.communicate("b\na\n")[0].split())
# > hello
# > 42  0
# > one
# > 3
# > ['a', 'b']
