"""The server behind `biasflow explore`: one page, one WebSocket for each that is open.

It listens on this machine only and answers those who know the token of its launch. The address that
is printed holds it; the first visit exchanges it for a cookie and leaves the address without it, so
that a copied link gives nothing away. Host and origin must be the server's own: a page of somebody
else that is open in the same browser reaches nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import InputError
from .crew import Crew, Job
from .exporting import export_page
from .messages import LARGEST_MESSAGE, Request, read_request
from .page_files import PAGE_FILES
from .scenes import SCENES

MOST_PAGES = 32
"""Pages that may be open at once."""
MOST_UNREAD, MOST_UNREAD_B = 512, 32 * 2**20
"""Messages that wait for a page, and their characters: one that does not read them is let go."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
CLOSED = "open the address that `biasflow explore` printed; this one lacks the token of its launch"


class Launch:
    """One run of the server: where it listens, its token, its workers, its pages."""

    def __init__(self, port: int, token: str | None = None, crew: Crew | None = None) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32) if token is None else token
        self.crew = Crew() if crew is None else crew
        self.pages: set[Page] = set()

    @property
    def hosts(self) -> tuple[str, ...]:
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def address(self) -> str:
        """What to open, token included: for the terminal and the browser, for nobody else."""
        return f"http://{self.hosts[0]}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Cookies do not know ports; two servers on one machine have each its own."""
        return f"biasflow-{self.port}"

    def knows(self, token: str | None) -> bool:
        return token is not None and secrets.compare_digest(token.encode(), self.token.encode())

    def refusal(self, headers: Headers, needs_origin: bool) -> str | None:
        """Why a request is not answered: it is not for this host, or from another origin."""
        if headers.get("host") not in self.hosts:
            return "this server answers to 127.0.0.1 and localhost only"
        origin = headers.get("origin")
        if (origin is not None or needs_origin) and origin not in self._origins:
            return "this server answers to its own page only"
        return None

    @property
    def _origins(self) -> tuple[str, ...]:
        return tuple(f"http://{host}" for host in self.hosts)

    def headers(self) -> dict[str, str]:
        sockets = " ".join(f"ws://{host}" for host in self.hosts)
        return {
            "Content-Security-Policy": POLICY.format(sockets=sockets),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }

    @contextlib.asynccontextmanager
    async def running(self, app: Starlette) -> AsyncIterator[None]:
        """Workers live as long as the server."""
        await self.crew.start(next(iter(SCENES.values())))
        try:
            yield
        finally:
            await self.crew.stop()

    def app(self) -> ASGIApp:
        routes = [
            Route("/", self._front),
            Route("/{name:path}", self._file),
            WebSocketRoute("/page", self._page),
        ]
        return Guard(Starlette(routes=routes, lifespan=self.running), self)

    async def _front(self, request: HttpRequest) -> Response:
        token = request.query_params.get("token")
        if self.knows(token):
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(
                self.cookie, self.token, httponly=True, samesite="strict", secure=False
            )
            return answer
        return self._served(request, "index.html")

    async def _file(self, request: HttpRequest) -> Response:
        return self._served(request, request.path_params["name"])

    def _served(self, request: HttpRequest, name: str) -> Response:
        if not self.knows(request.cookies.get(self.cookie)):
            return PlainTextResponse(CLOSED, 403)
        if name not in PAGE_FILES:
            return PlainTextResponse("there is no such file", 404)
        content = files(__package__).joinpath("page", *name.split("/")).read_bytes()
        return Response(content, media_type=PAGE_FILES[name])

    async def _page(self, socket: WebSocket) -> None:
        if not self.knows(socket.cookies.get(self.cookie)):
            await socket.close(4403, CLOSED)
            return
        await socket.accept()
        if len(self.pages) >= MOST_PAGES:
            await socket.close(4429, f"{MOST_PAGES} pages are open already; close one of them")
            return
        page = Page(socket, self.crew)
        self.pages.add(page)
        try:
            await page.live()
        finally:
            self.pages.discard(page)


class Guard:
    """What stands before every request: its host and origin, and headers on every answer."""

    def __init__(self, app: ASGIApp, launch: Launch) -> None:
        self._app, self._launch = app, launch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        of_socket = scope["type"] == "websocket"
        reason = self._launch.refusal(Headers(scope=scope), of_socket)
        if reason is not None and of_socket:
            await WebSocket(scope, receive, send).close(4403, reason)
            return
        if reason is None and not of_socket and scope["method"] not in ("GET", "HEAD"):
            reason = "this server has nothing to change"

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [(k.lower(), v) for k, v in self._launch.headers().items()]
                message["headers"] = [
                    *message.get("headers", []),
                    *((k.encode(), v.encode()) for k, v in headers),
                ]
            await send(message)

        inner: Callable[[Scope, Receive, Send], Awaitable[None]] = (
            self._app if reason is None else PlainTextResponse(reason, 403)
        )
        await inner(scope, receive, with_headers)


class Page:
    """One open page: what it asks goes to the crew, what comes back is sent while it is wanted."""

    def __init__(self, socket: WebSocket, crew: Crew) -> None:
        self._socket, self._crew = socket, crew
        self._outbox: asyncio.Queue[tuple[int | None, str]] = asyncio.Queue(MOST_UNREAD)
        self._newest: int | None = None
        self._unread = 0

    async def live(self) -> None:
        """Until the page is closed, or does not keep to what was agreed."""
        scenes = [scene.described() for scene in SCENES.values()]
        self._post(None, {"kind": "hello", "scenes": scenes})
        sender = asyncio.create_task(self._send())
        self._reader = asyncio.create_task(self._receive())
        try:
            await asyncio.wait({sender, self._reader}, return_when=asyncio.FIRST_COMPLETED)
            for task in (sender, self._reader):
                if task.done() and not task.cancelled():
                    task.result()
        except (WebSocketDisconnect, KeyError, RuntimeError):
            pass
        finally:
            self._crew.cancel(self)
            self._crew.cancel((self, "export"))
            for task in (sender, self._reader):
                task.cancel()
            await asyncio.gather(sender, self._reader, return_exceptions=True)
            with contextlib.suppress(Exception):
                await self._socket.close()

    async def _receive(self) -> None:
        while True:
            self._read(await self._socket.receive_text())
            await asyncio.sleep(0)  # other pages' turn: what is waiting is received without one

    async def _send(self) -> None:
        while True:
            id, text = await self._outbox.get()
            self._unread -= len(text)
            if id is None or id == self._newest:  # nobody draws what is out of date
                await self._socket.send_text(text)

    def _read(self, text: str) -> None:
        try:
            request = read_request(text, SCENES)
        except InputError as error:
            self._post(None, {"kind": "end", "id": getattr(error, "id", -1), "error": f"{error}"})
            return
        if request.kind == "ask":
            self._ask(request)
        elif request.kind == "export":
            self._export(request)
        elif request.kind == "cancel":
            self._newest = None
            self._crew.cancel(self)
        else:
            self._code(request)

    def _code(self, request: Request) -> None:
        assert request.scene is not None
        try:
            text = request.scene.as_python(request.state)
        except InputError as error:  # what only shows once the data are made
            self._post(None, {"kind": "end", "id": request.id, "error": f"{error}"})
            return
        self._post(None, {"kind": "code", "id": request.id, "text": text})

    def _ask(self, request: Request) -> None:
        assert request.scene is not None
        id, self._newest = request.id, request.id

        def deliver(head: dict[str, Any], data: str | None) -> None:
            if "part" in head:
                name = json.dumps(head["part"])
                self._put(id, f'{{"kind":"part","id":{id},"name":{name},"data":{data}}}')
            elif "warming" in head:
                self._post(id, {"kind": "warming", "id": id})
            else:
                self._post(id, {"kind": "end", "id": id, "error": head["end"]})

        self._crew.ask(Job(self, request.scene, request.state, deliver))

    def _export(self, request: Request) -> None:
        assert request.scene is not None
        id, scene, state = request.id, request.scene, request.state
        parts: list[tuple[str, str]] = []

        def deliver(head: dict[str, Any], data: str | None) -> None:
            if "part" in head and data is not None:
                parts.append((head["part"], data))
            elif head.get("end"):
                self._post(None, {"kind": "end", "id": id, "error": head["end"]})
            elif "end" in head:
                text = export_page(scene, state, parts)
                name = f"biasflow-{scene.name}.html"
                self._post(None, {"kind": "file", "id": id, "name": name, "text": text})

        self._crew.ask(Job((self, "export"), scene, state, deliver))

    def _post(self, id: int | None, message: dict[str, Any]) -> None:
        self._put(id, json.dumps(message, separators=(",", ":")))

    def _put(self, id: int | None, text: str) -> None:
        if self._outbox.full() or self._unread + len(text) > MOST_UNREAD_B:
            self._reader.cancel()
            return
        self._unread += len(text)
        self._outbox.put_nowait((id, text))


def bound_socket(port: int = 0) -> socket.socket:
    """A socket on this machine's own address, at a free port where none is named."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind(("127.0.0.1", port))
    except OSError as error:
        found.close()
        raise InputError(f"--port: {port} cannot be used here: {error.strerror}") from None
    return found


def serve(port: int = 0, opened: Callable[[str], None] = lambda address: None) -> None:
    """Serve until interrupted; `opened` is told the address once the server answers."""
    import uvicorn

    # that a page which is gone cannot be answered is no news for a terminal
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    listening = bound_socket(port)
    launch = Launch(listening.getsockname()[1])

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                opened(launch.address)

    config = uvicorn.Config(
        launch.app(),
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        ws_max_queue=8,
        ws_per_message_deflate=False,  # to this machine itself, packing takes longer than sending
        timeout_graceful_shutdown=2,
        server_header=False,
        lifespan="on",
    )
    with listening, contextlib.suppress(KeyboardInterrupt):
        Server(config).run([listening])
