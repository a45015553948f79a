"""The network: Zenoh where ZENOH_ENDPOINT names a router, else DDS."""

import os

if os.environ.get("ZENOH_ENDPOINT"):
    from zenoh_wire import Domain, qos, service, take, wait_matched, wait_offered, write
else:
    from wire import Domain, qos, service, take, wait_matched, wait_offered, write

__all__ = ["Domain", "qos", "service", "take", "wait_matched", "wait_offered", "write"]
