"""Ctrl-C in the middle of a request: where it stands is saved, and how it goes on is told."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from rightcall.cli.packet_ways import models, places, resume_command

if TYPE_CHECKING:
    from rightcall.route.packets import PacketStore
    from rightcall.route.types import Packet


def tell_interrupted(packet: "Packet", packets: "PacketStore", options: Namespace) -> None:
    if packet.header.packet_id in packets.ids():
        command = resume_command(packet, models(options) + places(options))
        sys.stderr.write(f"\nrightcall: interrupted; the request is saved as it stood, and goes on with: {command}\n")
    else:
        sys.stderr.write("\nrightcall: interrupted, before anything of the request was saved\n")
