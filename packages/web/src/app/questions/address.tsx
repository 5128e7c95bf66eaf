import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Note } from '../ui/ui.tsx'
import style from './questions.module.css'

/** An address in three parts, with the host emphasized. */
export function Address({ url }: { url: string }): ReactNode {
  const t = useText()
  const parsed = URL.parse(url)
  if (parsed === null || parsed.host === '')
    return (
      <div className={style.untrusted}>
        <span className={style.address}>
          <SafeText text={untrusted(url)} />
        </span>
        <Note tone="danger">{t('page.noAddress')}</Note>
      </div>
    )
  const { href, hostname } = parsed
  const credentials = parsed.username === '' ? 0 : href.indexOf('@') + 1
  const from = href.indexOf(hostname, Math.max(href.indexOf('//') + 2, credentials))
  return (
    <div className={style.untrusted}>
      <div className={style.site} data-site>
        <SafeText text={untrusted(parsed.host)} />
      </div>
      <div className={style.address}>
        <SafeText text={untrusted(href.slice(0, from))} />
        <strong>
          <SafeText text={untrusted(hostname)} />
        </strong>
        <SafeText text={untrusted(href.slice(from + hostname.length))} />
      </div>
    </div>
  )
}

/** Whether an address may be opened: https, or http on this machine. */
export function canOpen(url: string): boolean {
  const parsed = URL.parse(url)
  if (parsed === null) return false
  const { protocol, hostname } = parsed
  const isLocal =
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLocal)
}
