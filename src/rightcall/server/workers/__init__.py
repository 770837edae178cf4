"""Several processes that are one server: `rightcall serve --workers N`."""

from rightcall.server.workers.parent import Parent, Plan
from rightcall.server.workers.seat import Hello, Seat, WorkerServer, take_seat

__all__ = ["Hello", "Parent", "Plan", "Seat", "WorkerServer", "take_seat"]
