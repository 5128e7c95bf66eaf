#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { serveStdio } from '@jackfield/sdk/stdio'
import { createFetchServer } from './server.ts'
import type { FetchOptions } from './types.ts'

/** The command. */

const help = `Fetches web pages as Markdown over the Model Context Protocol.

Usage: jackfield-server-fetch [options]

  --allow-private HOST   Fetch from this private or loopback host too: HOST or HOST:PORT, such as 127.0.0.1:8080.
                         Can be repeated. Default: public addresses only.
  --port PORT            Fetch from this port of public hosts too. Can be repeated. Default: 80 and 443 only.
  --ignore-robots        Fetch what robots.txt disallows.
  --user-agent TEXT      The User-Agent header; robots.txt is matched by its first word.
  --timeout SECONDS      Seconds for one fetch. Default 30.
  --http PORT            Serve http://127.0.0.1:PORT/mcp instead of standard input and output; 0 takes any free port.
  --help                 Print this text.
  --version              Print the version.

Environment: with NODE_USE_ENV_PROXY=1, requests go through the proxy in HTTPS_PROXY and HTTP_PROXY, except to the hosts in
NO_PROXY. The proxy resolves the names, and must refuse private addresses.`

/** The version in package.json. */
function version(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function readArguments(): {
  options: FetchOptions
  http: number | undefined
  help: boolean
  version: boolean
} {
  const { values } = parseArgs({
    options: {
      'allow-private': { type: 'string', multiple: true, default: [] },
      port: { type: 'string', multiple: true, default: [] },
      'ignore-robots': { type: 'boolean', default: false },
      'user-agent': { type: 'string' },
      timeout: { type: 'string' },
      http: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  const http = values.http === undefined ? undefined : numberOf('--http', values.http)
  if (http !== undefined && http > 65_535)
    throw new Error(`--http needs a port from 0 to 65535, not "${http}"`)
  const ports = values.port.map((port) => numberOf('--port', port))
  return {
    options: {
      allowPrivate: values['allow-private'],
      ...(ports.length > 0 && { ports: [80, 443, ...ports] }),
      ignoreRobots: values['ignore-robots'],
      ...(values['user-agent'] !== undefined && { userAgent: values['user-agent'] }),
      ...(values.timeout !== undefined && { timeoutSeconds: numberOf('--timeout', values.timeout) }),
    },
    http,
    help: values.help ?? false,
    version: values.version ?? false,
  }
}

function numberOf(option: string, text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw new Error(`${option} needs a whole number, not "${text}"`)
}

async function main(): Promise<void> {
  const { options, http: port, ...wanted } = readArguments()
  if (wanted.help || wanted.version) {
    process.stdout.write(`${wanted.help ? help : version()}\n`)
    return
  }
  const server = createFetchServer(options)
  if (port === undefined) {
    await serveStdio(server).closed
    return
  }
  const { serveHttp } = await import('@jackfield/sdk/http')
  const http = await serveHttp(server).listen({ port })
  process.stderr.write(`jackfield-server-fetch: serving ${http.url}\n`)
  const stop = (): void => {
    http.close().then(() => process.exit(0), fail)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`jackfield-server-fetch: ${message}\n`)
  process.exit(1)
}

main().catch(fail)
