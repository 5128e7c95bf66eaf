import { type ReactNode, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { notificationState, switchNotifications } from './notifications.ts'

/** Switches desktop notifications of questions on or off for this browser. */
export function NotificationSwitch(): ReactNode {
  const t = useText()
  const [state, setState] = useState(notificationState)
  if (state === 'missing') return null
  return (
    <label title={t('notify.means')}>
      <input
        type="checkbox"
        checked={state === 'on'}
        disabled={state === 'denied'}
        onChange={({ target }) => void switchNotifications(target.checked).then(setState)}
      />{' '}
      {t(state === 'denied' ? 'notify.denied' : 'notify.switch')}
    </label>
  )
}
