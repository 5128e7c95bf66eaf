// A small page for the tests of the server: it logs in, connects, and shows questions with a button that answers each.
import { type Channel, createHostClient, type InboxRow } from '@jackfield/host/client'

const storageKey = 'page-key'
const stateText = document.createElement('p')
stateText.id = 'state'
// Apart from the state, which every further attempt to connect writes again.
const unsent = document.createElement('p')
unsent.id = 'unsent'
const list = document.createElement('ul')
document.body.append(stateText, unsent, list)

function show(state: string): void {
  stateText.textContent = state
}

async function logIn(key: string): Promise<boolean> {
  const response = await fetch('/login', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ key }),
  })
  if (!response.ok) return false
  const { pageKey }: { pageKey: string } = await response.json()
  localStorage.setItem(storageKey, pageKey)
  return true
}

function connect(): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket('/socket')
    socket.onclose = ({ code, reason }) => {
      if (code === 4401) {
        client.close()
        show('login needed')
      }
      reject(new Error(reason || `closed with code ${code}`))
    }
    socket.onopen = () => {
      socket.send(localStorage.getItem(storageKey) ?? '')
      resolve({
        get unsent() {
          return socket.bufferedAmount
        },
        send: (frame) => socket.send(frame),
        close: () => socket.close(),
        listen(message, closed) {
          socket.addEventListener('message', ({ data }) => message(String(data)))
          socket.addEventListener('close', ({ code, reason }) => closed(reason || `closed with code ${code}`))
        },
      })
    }
  })
}

function item({ id, question, state, digest }: InboxRow): HTMLElement {
  const shown = document.createElement('li')
  shown.dataset['state'] = state
  shown.textContent = `${question.kind} ${state}`
  const button = document.createElement('button')
  button.textContent = 'Accept'
  button.onclick = () => {
    // An answer is never queued.
    if (client.state.state !== 'connected') unsent.textContent = `${client.state.state}: not sent`
    else
      void client.call('inbox.answer', {
        id,
        answer: { action: 'accept', content: { seat: '12A' } },
        seen: digest,
      })
  }
  if (state === 'open') shown.append(button)
  return shown
}

const [, key] = /^#k=([\w-]+)$/.exec(location.hash) ?? []
history.replaceState(null, '', location.pathname + location.search)
const isIn = key === undefined || (await logIn(key))

const client = createHostClient({
  name: 'test page',
  connect: isIn ? connect : () => Promise.reject(new Error('refused')),
  onState: ({ state }) => show(state),
})
if (isIn) {
  client.call('surface.attach', { name: 'test page', kinds: ['elicitation'] }).catch(() => {})
  client.subscribe('inbox', { rows: (view) => list.replaceChildren(...[...view.values()].map(item)) })
} else {
  client.close()
  show('refused')
}
