import { expect, test } from 'vitest'
import { nameOfCommand } from '../../src/cli/target.ts'
import { inProcess } from '../terminal/in-process.ts'
import { everything, recorded, tempFolder, travel } from './jackfield.ts'

test('a server after -- is named after its package or program', () => {
  const names: Record<string, string> = {
    'npx -y @modelcontextprotocol/server-everything': 'everything',
    'npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /tmp': 'filesystem',
    'npx -y -p @ann/weather-mcp weather --units metric': 'weather',
    'npx @playwright/mcp@latest': 'playwright',
    'npm exec -- @upstash/context7-mcp': 'context7',
    'pnpm dlx mcp-server-git': 'git',
    'uvx mcp-server-time==1.0 --local-timezone UTC': 'time',
    'uvx --from git+https://example.org/repo notes-mcp': 'notes',
    'python3.12 -m mcp_server_fetch': 'fetch',
    'python server.py': 'python',
    'docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:1.2': 'github',
    'docker run -i mcp/time': 'time',
    'node servers/travel/src/main.ts --db :memory:': 'travel',
    '/usr/bin/node --import tsx /a/node_modules/@ann/server-notes/dist/index.js stdio': 'notes',
    './node_modules/.bin/mcp-server-notes --stdio': 'notes',
    'node -e console.log(1)': 'node',
    'env A=b npx -y notes-server': 'notes',
    'C:\\tools\\notes-server.exe': 'notes',
    '/opt/bin/my-server --stdio': 'my',
    server: 'server',
    './run.sh': 'run.sh',
  }
  const given = Object.keys(names)
  expect(Object.fromEntries(given.map((line) => [line, nameOfCommand(line.split(' '))]))).toEqual(names)
})

test('that name is shown in the activity log', async () => {
  const home = tempFolder()
  for (const [words, command] of [
    [['call', 'echo', 'message=hi'], everything],
    [['call', 'searchFlights', 'origin=NYC', 'destination=Barcelona', 'date=2026-06-15'], travel()],
  ] as const) {
    expect(await inProcess([...words, '--', ...command], { home, piped: true }).ended).toBe(0)
  }
  const { rows } = await recorded(['--store', `${home}/data/jackfield/activity.db`], home)
  expect(rows.flatMap((row) => ('server' in row ? [row.server] : []))).toEqual(
    expect.arrayContaining(['everything', 'travel']),
  )
})
