"""Tasks, timers, a thread and a subprocess of an event loop."""

import asyncio


async def main():
    print(await asyncio.gather(*(asyncio.sleep(0.01, number) for number in range(3))))
    print(await asyncio.to_thread(sum, [1, 2, 3]))
    child = await asyncio.create_subprocess_exec("/bin/echo", "from a child", stdout=asyncio.subprocess.PIPE)
    print((await child.communicate())[0].decode().strip())


asyncio.run(main())
# > [0, 1, 2]
# > 6
# > from a child
