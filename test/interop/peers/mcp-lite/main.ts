import { InMemoryClientRequestAdapter, InMemorySessionAdapter, StreamableHttpTransport } from 'mcp-lite'
import { listenWeb } from '../web.ts'
import { createFixture } from './definition.ts'

/** The fixture on mcp-lite, which serves over HTTP only. */
const transport = new StreamableHttpTransport({
  sessionAdapter: new InMemorySessionAdapter({ maxEventBufferSize: 1024 }),
  clientRequestAdapter: new InMemoryClientRequestAdapter({ defaultTimeoutMs: 10_000 }),
})
listenWeb(transport.bind(createFixture()))
