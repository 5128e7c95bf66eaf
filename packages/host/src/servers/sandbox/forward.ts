/**
 * Runs inside a sandbox without a network: forwards a local port to the proxy's socket file, and starts the program that uses it.
 * It imports nothing, since the rest of this package is not in the sandbox.
 */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

const [socket = '', command = '', ...args] = process.argv.slice(2)

const server = createServer((clientSocket) => {
  const proxySocket = connect(socket)
  for (const [one, other] of [
    [clientSocket, proxySocket],
    [proxySocket, clientSocket],
  ] as const) {
    one.on('error', () => other.destroy())
    one.once('close', () => other.destroy())
    one.pipe(other)
  }
})

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const proxy = `http://127.0.0.1:${port}`
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: {
      ...process.env,
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      https_proxy: proxy,
      NO_PROXY: '',
      no_proxy: '',
      NODE_USE_ENV_PROXY: '1',
    },
  })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.once('error', (error) => {
    process.stderr.write(`Cannot start ${command}: ${error.message}\n`)
    process.exit(127)
  })
  child.once('exit', (code) => process.exit(code ?? 1))
})
