import { all, docs, type Group, lacks, newest, no, ours, part, source, unknown, yes } from '../feature.ts'

const tasks = 'packages/sdk/test/extensions/tasks'
const compose = 'packages/sdk/test/compose'

export const beyond: Group = {
  title: 'Extensions, composition and tools',
  features: [
    {
      title: 'extensions are declared and negotiated, and rejected without a declaration',
      ours: ours(
        'packages/sdk/test/extensions/negotiation.test.ts > is declared by its identifier with its settings, and used if both sides declare it',
      ),
      peers: {
        v2: part('a map in the capabilities', source('extensions')),
        v1: unknown,
        fastmcp: unknown,
        lite: unknown,
      },
    },
    {
      title: 'tasks: the extension',
      since: '2026-07-28',
      ours: ours(`${tasks}/extension.test.ts > is answered at once with only the task, flat`),
      peers: newest(no(lacks('io\\.modelcontextprotocol/tasks'))),
    },
    {
      title: 'tasks: experimental',
      since: '2025-11-25',
      until: '2025-11-25',
      ours: ours(
        `${tasks}/experimental.test.ts > return the exact result of the call, related to the task, repeatedly`,
      ),
      peers: {
        v2: no(lacks('InMemoryTaskStore')),
        v1: yes(source('InMemoryTaskStore')),
        fastmcp: no(lacks('tasks/get')),
        lite: no(lacks('tasks/get')),
      },
    },
    {
      title: 'tasks: another process continues after a crash, and repeats no finished step',
      since: '2025-11-25',
      ours: ours(`${tasks}/takeover.test.ts > continues in another one, without repeating a finished step`),
      peers: {
        v2: no(lacks('InMemoryTaskStore')),
        v1: unknown,
        fastmcp: no(lacks('tasks/get')),
        lite: no(lacks('tasks/get')),
      },
    },
    {
      title: 'apps: pages that a host shows with results',
      since: '2025-06-18',
      ours: ours('packages/sdk/test/extensions/ui/ui.test.ts > gets the app of a tool, and its visibility'),
      peers: {
        v2: no(lacks('io\\.modelcontextprotocol/ui'), 'separate package ext-apps'),
        v1: no(lacks('io\\.modelcontextprotocol/ui'), 'separate package ext-apps'),
        fastmcp: part('passes `_meta.ui` on', source('MCP ext-apps metadata')),
        lite: no(lacks('io\\.modelcontextprotocol/ui')),
      },
    },
    {
      title: 'skills: served, listed, verified',
      ours: ours(
        'packages/sdk/test/extensions/skills/server.test.ts > answers in the shapes the official package expects',
        'packages/sdk/test/extensions/skills/client.test.ts > reads only its SKILL.md; a file is read on request',
      ),
      peers: {
        v2: yes(source('io.modelcontextprotocol/skills')),
        v1: no(lacks('skills/list')),
        fastmcp: no(lacks('skills/list')),
        lite: no(lacks('skills/list')),
      },
    },
    {
      title: 'several servers as one',
      ours: ours(
        `${compose}/compose.test.ts > lists tools and prompts under their prefixes, over all pages of all members`,
      ),
      peers: {
        v2: no(lacks('\\bcompose\\(|\\bmount\\(')),
        v1: no(lacks('\\bcompose\\(|\\bmount\\(')),
        fastmcp: no(lacks('\\bcompose\\(|\\bmount\\(')),
        lite: part('of the same process', source('.group()')),
      },
    },
    {
      title: 'a proxy between sessions and 2026-07-28 that forwards questions',
      ours: ours(`${compose}/relay.test.ts > forwards round after round, with every effect once`),
      peers: {
        v2: no(lacks('proxyServer')),
        v1: no(lacks('proxyServer')),
        fastmcp: part('stdio behind HTTP, by mcp-proxy', source('proxyServer')),
        lite: no(lacks('proxyServer')),
      },
    },
    {
      title: 'traces and metrics by OpenTelemetry',
      ours: ours(
        'packages/sdk/test/telemetry/trace.test.ts > one trace over %s',
        'packages/sdk/test/telemetry/recording.test.ts > are measured on both sides in seconds, without names from the peer',
      ),
      peers: all(no(lacks('traceparent')), { v2: part('key names only', source('TRACEPARENT_META_KEY')) }),
    },
    {
      title: 'a host: many servers, policy, approval, activity log',
      ours: ours(
        'packages/host/test/broker/broker.test.ts > asks the user with all details, and runs after approval',
      ),
      peers: all(no(lacks('createHost\\('))),
    },
    {
      title: 'a command line client and inspector',
      ours: ours('test/docs/commands.test.ts > $page: $line'),
      peers: {
        v2: no(docs('a separate program, the Inspector')),
        v1: no(docs('a separate program, the Inspector')),
        fastmcp: part('starts other tools', source('DEV_SERVER_NAME')),
        lite: no(lacks('process\\.argv')),
      },
    },
    {
      title: 'a tool that rewrites code of the previous major version',
      ours: { has: 'no', note: 'there is none' },
      peers: { v2: yes(docs('@modelcontextprotocol/codemod')), v1: unknown, fastmcp: unknown, lite: unknown },
    },
  ],
}
