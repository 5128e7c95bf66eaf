import type { Channel } from '@jackfield/host/client'
import { pageBuild, pageKey } from './session.ts'

/** Close codes after which the page does not reconnect. */
export const closeCodes = { loginNeeded: 4401, newBuild: 4426 } as const

/**
 * Opens a WebSocket to the host and sends the page key first. The key is read each time, since another login of this browser
 * renews it. `onRefused`: called with one of `closeCodes`.
 * @throws Error if the socket closes before it opens
 */
export function socketChannel(onRefused: (code: number) => void): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`/socket?build=${encodeURIComponent(pageBuild)}`)
    const queue: string[] = []
    let message: ((frame: string) => void) | undefined
    let onClose: ((reason: string) => void) | undefined
    let closeReason: string | undefined
    socket.onmessage = ({ data }) => {
      if (typeof data !== 'string') return
      if (message === undefined) queue.push(data)
      else message(data)
    }
    socket.onclose = (event) => {
      if (event.code === closeCodes.loginNeeded || event.code === closeCodes.newBuild) onRefused(event.code)
      closeReason ??= event.reason === '' ? `closed with code ${event.code}` : event.reason
      reject(new Error(closeReason))
      onClose?.(closeReason)
    }
    socket.onopen = () => {
      socket.send(pageKey() ?? '')
      resolve({
        get unsent() {
          return socket.bufferedAmount
        },
        send(frame) {
          if (socket.readyState === socket.OPEN) socket.send(frame)
        },
        listen(onMessage, onClosed) {
          message = onMessage
          onClose = onClosed
          for (const frame of queue.splice(0)) onMessage(frame)
          if (closeReason !== undefined) onClosed(closeReason)
        },
        close(reason = 'the page closed the connection') {
          closeReason ??= reason
          socket.close()
        },
      })
    }
  })
}
