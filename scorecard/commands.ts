import { createServer } from 'node:http'
import type { Cli, FixtureServer, ProcessResult, RunOptions, Workspace } from './types.ts'

/** A server as a configuration file describes it. */
export type ServerEntry = Pick<FixtureServer, 'command' | 'args' | 'url'>

/** Writes a configuration file in the format that all of them read, except for mcp-use, and returns its path. */
export function writeConfig(
  workspace: Workspace,
  servers: Record<string, ServerEntry>,
  extra: Record<string, unknown> = {},
): Promise<string> {
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, { command, args, url }]) => [
      name,
      url === undefined
        ? { command, args }
        : url.endsWith('/sse')
          ? { type: 'sse', url }
          : { type: 'streamable-http', url },
    ]),
  )
  return workspace.write('servers.json', JSON.stringify({ mcpServers, ...extra }, null, 2))
}

/** Calls a tool of a server, which is configured as `shop`, with arguments as JSON. */
export async function callTool(
  workspace: Workspace,
  cli: Cli,
  server: ServerEntry,
  [name, args]: [name: string, args: Record<string, unknown>],
  { flags = [], ...options }: RunOptions & { flags?: string[] } = {},
): Promise<ProcessResult> {
  const json = JSON.stringify(args)
  const file = await writeConfig(workspace, { shop: server })
  switch (cli) {
    case 'jackfield':
      return workspace.run(cli, ['call', 'shop', name, '--args', json, '--config', file, ...flags], options)
    case 'inspector': {
      const method = ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', json]
      const argv = ['--config', file, '--server', 'shop', '--protocol-era', 'auto', ...method, ...flags]
      return workspace.run(cli, argv, options)
    }
    case 'mcpdo': {
      const connected = await connectMcpdo(workspace, file, options)
      if (connected.code !== 0) return connected
      return workspace.run(cli, ['@shop', 'tools/call', name, json, ...flags], options)
    }
    case 'mcporter':
      return workspace.run(cli, ['call', `shop.${name}`, '--args', json, '--config', file, ...flags], options)
    case 'mcp-use': {
      const connected = await connectMcpUse(workspace, server, options)
      if (connected.code !== 0) return connected
      return workspace.run(cli, ['client', 'shop', 'tools', 'call', name, json, ...flags], options)
    }
    case 'wong2':
      return workspace.run(
        cli,
        ['--config', file, 'call-tool', `shop:${name}`, '--args', json, ...flags],
        options,
      )
  }
}

/** Lists the tools of a server, which is configured as `shop`. wong2/mcp-cli does that in a terminal only. */
export async function listTools(
  workspace: Workspace,
  cli: Exclude<Cli, 'wong2'>,
  server: ServerEntry,
  { flags = [], ...options }: RunOptions & { flags?: string[] } = {},
): Promise<ProcessResult> {
  const file = await writeConfig(workspace, { shop: server })
  switch (cli) {
    case 'jackfield':
      return workspace.run(cli, ['tools', 'shop', '--config', file, ...flags], options)
    case 'inspector': {
      const argv = ['--config', file, '--server', 'shop', '--protocol-era', 'auto', '--method', 'tools/list']
      return workspace.run(cli, [...argv, ...flags], options)
    }
    case 'mcpdo': {
      const connected = await connectMcpdo(workspace, file, options)
      if (connected.code !== 0) return connected
      return workspace.run(cli, ['@shop', 'tools/list', ...flags], options)
    }
    case 'mcporter':
      return workspace.run(cli, ['list', 'shop', '--config', file, ...flags], options)
    case 'mcp-use': {
      const connected = await connectMcpUse(workspace, server, options)
      if (connected.code !== 0) return connected
      return workspace.run(cli, ['client', 'shop', 'tools', 'list', ...flags], options)
    }
  }
}

/** Connects mcpdo to a server of the file; its daemon keeps the connection. */
export function connectMcpdo(
  workspace: Workspace,
  config: string,
  { name = 'shop', flags = [], ...options }: RunOptions & { name?: string; flags?: string[] } = {},
): Promise<ProcessResult> {
  return workspace.run('mcpdo', ['connect', name, '--config', config, '--era', 'auto', ...flags], options)
}

/** Connects mcp-use to a server; it saves the name and the address in the home folder. */
export function connectMcpUse(
  workspace: Workspace,
  { command, args, url }: ServerEntry,
  { name = 'shop', ...options }: RunOptions & { name?: string } = {},
): Promise<ProcessResult> {
  const target = url === undefined ? ['--stdio', [command, ...args].join(' ')] : [url, '--no-oauth']
  return workspace.run('mcp-use', ['client', 'connect', name, ...target], options)
}

/** Connects mcpdo and mcp-use, which call tools of connected servers only. */
export async function connectIfNeeded(
  workspace: Workspace,
  cli: Cli,
  file: string,
  servers: Record<string, ServerEntry>,
): Promise<void> {
  if (cli !== 'mcpdo' && cli !== 'mcp-use') return
  for (const [name, server] of Object.entries(servers)) {
    const result =
      cli === 'mcpdo'
        ? await connectMcpdo(workspace, file, { name })
        : await connectMcpUse(workspace, server, { name })
    if (result.code !== 0) throw new Error(`${cli} did not connect: ${result.stderr.slice(-300)}`)
  }
}

/** The transport of a fixture server: HTTP for mcp-use, which is made for URLs, stdio for the others. */
export function transportFor(cli: Cli): 'http' | undefined {
  return cli === 'mcp-use' ? 'http' : undefined
}

/** A port without a listener. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
