import { type Zippable, zipSync } from 'fflate'

/** A server without any package: its one tool is called `given`, and its description is what it was given. */
export const program = `
const given = JSON.stringify({ args: process.argv.slice(2), token: process.env.TOKEN?.length, cwd: process.cwd() })
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id === undefined) return
  const answers = {
    initialize: { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'packed', version: '1' } } },
    'tools/list': { result: { tools: [{ name: 'given', description: given, inputSchema: { type: 'object' } }] } },
  }
  const answer = answers[method] ?? { error: { code: -32601, message: 'unknown' } }
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

export const manifest = {
  manifest_version: '0.3',
  name: 'packed',
  version: '1.2.3',
  description: 'Packed',
  author: { name: 'Ann' },
  server: {
    type: 'node',
    entry_point: 'server/index.js',
    mcp_config: {
      command: 'node',
      args: [`\${__dirname}/server/index.js`, `--depth=\${user_config.depth}`, `\${user_config.folders}`],
      env: { TOKEN: `\${user_config.token}` },
    },
  },
  user_config: {
    token: { type: 'string', title: 'Token', sensitive: true, required: true },
    folders: { type: 'directory', title: 'Folders', multiple: true, required: true },
    depth: { type: 'number', title: 'Depth', default: 3, min: 1, max: 9 },
  },
}

/** A bundle with this manifest and these files. */
export function bundle(written: unknown = manifest, files: Zippable = {}): Uint8Array {
  return zipSync({
    'manifest.json': Buffer.from(JSON.stringify(written)),
    'server/index.js': Buffer.from(program),
    ...files,
  })
}
