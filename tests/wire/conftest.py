import pytest

from debian_root import NOT_TRIED, SKIPPED
from wire import Sluice, Upstream


def pytest_configure(config):
    """What fails in a thread of a test fails the test: else it goes on without what the thread was there for."""
    config.addinivalue_line("filterwarnings", "error::pytest.PytestUnhandledThreadExceptionWarning")


def pytest_sessionfinish(session, exitstatus):
    """A file that this machine can't try is not one that passed."""
    if exitstatus == pytest.ExitCode.OK and NOT_TRIED:
        session.exitstatus = SKIPPED


@pytest.fixture(scope="module")
def upstream():
    process = Upstream()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def sluice(upstream):
    """One gateway for all tests of a file; each test uses queries of its own. What fails in one test is
    asked again in the next: circuits stay closed."""
    process = Sluice(upstream, "[circuit]\nfailure_threshold = 1000\n")
    yield process
    assert process.stop() == 0, process.output()


@pytest.fixture(autouse=True)
def healthy_upstream(request):
    """Every test begins with providers that answer and a recorder that is empty."""
    if "upstream" in request.fixturenames or "sluice" in request.fixturenames:
        process = request.getfixturevalue("upstream")
        for provider in ("serper", "tavily"):
            process.control(provider, fixture="ok")
        process.forget()
    yield
