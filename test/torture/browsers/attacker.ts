import { createServer } from 'node:http'

/** What a page tries, by name. Each reaches `/mcp?try=<name>` or `/sse?try=<name>` of the server where the browser lets it. */
export const attempts = [
  'plain-post',
  'form-post',
  'urlencoded-post',
  'json-post',
  'multipart-form',
  'plain-form',
  'beacon',
  'event-stream',
  'older-event-stream',
  'image',
  'script',
  'frame',
  'web-socket',
] as const

export type Attempt = (typeof attempts)[number]

/** The script of a page that tries everything it can against a server. `attack(target, name)` resolves when it has tried. */
const script = `
const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'shoot', arguments: {}, _meta: {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'page', version: '1' } } } })
const over = (what, ...events) => new Promise((resolve) => {
  for (const event of events) what.addEventListener(event, resolve)
  setTimeout(resolve, 2000)
})
const send = (type) => (url) => fetch(url, { method: 'POST', mode: 'no-cors', body: call, headers: { 'Content-Type': type } })
const element = (tag) => async (url) => {
  const made = document.createElement(tag)
  const ended = over(made, 'load', 'error')
  made.src = url
  document.body.append(made)
  await ended
  made.remove()
}
const form = (type) => async (url) => {
  const frame = document.createElement('iframe')
  frame.name = 'into' + Math.random()
  const made = document.createElement('form')
  Object.assign(made, { action: url, method: 'POST', enctype: type, target: frame.name })
  const field = document.createElement('input')
  field.name = call.slice(0, -1) + ', "pad": "'
  field.value = '"}'
  made.append(field)
  document.body.append(frame, made)
  await new Promise((resolve) => setTimeout(resolve, 20))
  const ended = over(frame, 'load')
  made.submit()
  await ended
  frame.remove()
  made.remove()
}
const stream = async (url) => {
  const source = new EventSource(url)
  await over(source, 'open', 'error', 'message')
  source.close()
}
const ways = {
  'plain-post': send('text/plain'),
  'form-post': (url) => { const body = new FormData(); body.set('x', call); return fetch(url, { method: 'POST', mode: 'no-cors', body }) },
  'urlencoded-post': send('application/x-www-form-urlencoded'),
  'json-post': (url) => fetch(url, { method: 'POST', body: call, headers: {
    'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'shoot' } }),
  'multipart-form': form('multipart/form-data'),
  'plain-form': form('text/plain'),
  beacon: async (url) => { navigator.sendBeacon(url, new Blob([call], { type: 'text/plain' })) },
  'event-stream': stream,
  'older-event-stream': (url) => stream(url.replace('/mcp', '/sse')),
  image: (url) => element('img')(url.replace('/mcp', '/sse')),
  script: element('script'),
  frame: element('iframe'),
  'web-socket': async (url) => {
    const socket = new WebSocket(url.replace('http', 'ws'))
    await over(socket, 'open', 'error')
    const isOpen = socket.readyState === 1
    socket.close()
    if (isOpen) throw new Error('a WebSocket was opened')
  },
}
window.attack = async (target, name) => {
  const ended = Promise.resolve(ways[name](target + '/mcp?try=' + name))
  return Promise.race([
    ended.then(() => 'tried', (error) => String(error)),
    new Promise((resolve) => setTimeout(() => resolve('went on'), 3000)),
  ])
}
`

export const attackPage = `<!doctype html><title>A page</title><body><script>${script}</script></body>`

export const html = { 'Content-Type': 'text/html; charset=utf-8' }
const outer = '<!doctype html><iframe sandbox="allow-scripts allow-forms" src="/"></iframe>'

/** Serves the page on a port of its own, and at `/outer` in a frame that is denied its origin. */
export async function servePage(): Promise<{ port: number; close: () => void }> {
  const server = createServer(({ url }, response) => {
    response.writeHead(200, html).end(url === '/outer' ? outer : attackPage)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It listens on no port')
  return {
    port: address.port,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
