"""The other side of `e2bki live`: CycloneDDS, or Zenoh, over loopback, with messages of ROS 2 as their bytes.

    peer.py play DRIVE.mcap      publishes the recording: clouds, transforms, names of classes, pictures; records what it sends
    peer.py listen               counts what the node publishes until it is told to stop (SIGTERM)
    peer.py join                 what a late joiner gets
    peer.py call SERVICE         calls a std_srvs/Trigger
    peer.py ask PLACES           asks what the map says of points, and prints the classes
    peer.py parameter NAME [V]   reads a parameter, or sets it
    peer.py foxglove URL         what Foxglove gets
    peer.py reach                whether the node's ports can be reached from outside of loopback
    peer.py latency STAMPS HEARD how long scans took to be told of
    peer.py router               a router of Zenoh

Each prints one line of JSON. ROS_DOMAIN_ID is the domain; ZENOH_ENDPOINT is where the router is, with Zenoh.
"""

import argparse
import os
import sys

from ask import ask, call, parameter
from hear import join, latency, listen
from outside import foxglove, reach
from play import play


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    player = commands.add_parser("play")
    player.add_argument("drive")
    player.add_argument("--rate", type=float, default=10.0)
    player.add_argument("--scans", type=int)
    player.add_argument("--now", action="store_true", help="stamps of now instead of those of the recording")
    player.add_argument("--stamps", help="file for the stamps of the scans")
    player.add_argument("--clouds", metavar="FIRST:LAST", help="only these clouds, with all transforms")
    player.add_argument("--best-effort", action="store_true")
    player.add_argument("--pictures", action="store_true", help="a camera's pictures and its calibration too")
    player.add_argument("--label", action="store_true", help="give clouds without labels some, by height")
    player.add_argument("--record", metavar="MCAP", help="file for what was sent, as it was sent")
    player.add_argument("--patience", type=float, default=30.0, help="seconds until somebody must listen")
    player.add_argument("--linger", type=float, default=2.0)
    player.set_defaults(run=play)
    for name, run in [("listen", listen), ("join", join)]:
        listener = commands.add_parser(name)
        listener.add_argument("--prefix", default="/map")
        listener.add_argument("--seconds", type=float, default=5.0)
        listener.add_argument("--heard", help="file for the stamps of updates and when they came")
        listener.set_defaults(run=run)
    latencies = commands.add_parser("latency")
    latencies.add_argument("stamps")
    latencies.add_argument("heard")
    latencies.set_defaults(run=latency)
    asker = commands.add_parser("ask")
    asker.add_argument("places", nargs="+", metavar="X,Y,Z")
    asker.add_argument("--frame", default="map")
    asker.add_argument("--prefix", default="/map")
    asker.add_argument("--seconds", type=float, default=10.0)
    asker.set_defaults(run=ask)
    setter = commands.add_parser("parameter")
    setter.add_argument("name")
    setter.add_argument("value", type=float, nargs="?")
    setter.add_argument("--node", default="/e2bki")
    setter.add_argument("--seconds", type=float, default=10.0)
    setter.set_defaults(run=parameter)
    onlooker = commands.add_parser("foxglove")
    onlooker.add_argument("url")
    onlooker.add_argument("topics", nargs="+")
    onlooker.add_argument("--seconds", type=float, default=15.0)
    onlooker.set_defaults(run=foxglove)
    commands.add_parser("reach").set_defaults(run=reach)
    if os.environ.get("ZENOH_ENDPOINT"):
        from zenoh_wire import router

        commands.add_parser("router").set_defaults(run=router)
    caller = commands.add_parser("call")
    caller.add_argument("service")
    caller.add_argument("--seconds", type=float, default=10.0)
    caller.set_defaults(run=call)
    arguments = parser.parse_args()
    arguments.run(arguments)
    if os.environ.get("ZENOH_ENDPOINT"):
        # Its threads may wait for Python's at the end, and Python for them.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
