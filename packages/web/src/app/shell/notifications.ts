import { useEffect, useRef } from 'react'
import { useText } from '../i18n/i18n.ts'
import type { Row } from '../questions/answer.ts'

const storageKey = 'jackfield.notifications'

/** `on` and `off`: the choice of the user; `denied`: blocked by the browser. */
export type NotificationState = 'on' | 'off' | 'denied' | 'missing'

export function notificationState(): NotificationState {
  if (!('Notification' in window)) return 'missing'
  if (Notification.permission === 'denied') return 'denied'
  return Notification.permission === 'granted' && localStorage.getItem(storageKey) === 'on' ? 'on' : 'off'
}

/** Switches notifications on or off; the browser asks for permission the first time. */
export async function switchNotifications(isOn: boolean): Promise<NotificationState> {
  localStorage.setItem(storageKey, isOn ? 'on' : 'off')
  if (isOn && Notification.permission === 'default') await Notification.requestPermission()
  return notificationState()
}

/**
 * A desktop notification for each question that arrives while this tab is not looked at: its kind and the server's configured
 * name, nothing that a server wrote. One tab shows it for all. `onOpen`: it was clicked.
 */
export function useNotifications(open: readonly Row[], onOpen: (question: string) => void): void {
  const t = useText()
  const knownIds = useRef<ReadonlySet<string>>(undefined)
  const onOpenRef = useRef(onOpen)
  onOpenRef.current = onOpen
  useEffect(() => {
    const before = knownIds.current
    knownIds.current = new Set(open.map(({ id }) => id))
    // Questions that exist when the page opens are not announced.
    if (before === undefined || notificationState() !== 'on' || document.visibilityState === 'visible') return
    for (const { id, question } of open) {
      if (before.has(id)) continue
      void navigator.locks.request(`${storageKey}.${id}`, { ifAvailable: true }, async (lock) => {
        if (lock === null) return
        const notification = new Notification('Jackfield', {
          body: t(`announce.${question.kind}`, { server: question.cause.server }),
          tag: id,
        })
        notification.onclick = () => {
          window.focus()
          onOpenRef.current(id)
          notification.close()
        }
        // Other tabs receive the same question within this time.
        await new Promise((resolve) => setTimeout(resolve, 5_000))
      })
    }
  }, [open, t])
}
