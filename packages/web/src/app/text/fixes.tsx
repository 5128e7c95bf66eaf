import type { Fix } from '@jackfield/host/browser'
import { HostError } from '@jackfield/host/client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { rich, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Note } from '../ui/ui.tsx'
import { HostText, SafeText } from './safe-text.tsx'
import style from './text.module.css'
import { type FromHost, fromHost, plain, untrusted } from './untrusted-text.ts'

/** Fixes that the page of a server already has as buttons. */
const buttonsOfServer: ReadonlySet<Fix['action']> = new Set(['sign-in', 'approve', 'diagnose'])

/**
 * The suggested fixes of a failure: links within the page, and texts for what is done elsewhere. `page`: the server whose page
 * shows them; fixes that this page has as buttons are omitted.
 */
export function Fixes({ fixes, page }: { fixes: FromHost<readonly Fix[]>; page?: string }): ReactNode {
  const t = useText()
  const shown = plain<readonly Fix[]>(fixes).filter(
    (fix) => !(buttonsOfServer.has(fix.action) && 'server' in fix && fix.server === page),
  )
  if (shown.length === 0) return null
  return (
    <ul className={style.fixes}>
      {shown.map((fix) => {
        const key = JSON.stringify(fix)
        const address = addressOf(fix)
        const { action, ...values } = fix
        const id = 'setting' in fix ? `fix.configure.${fix.setting}` : `fix.${action}`
        const parts = Object.entries(values).map(([name, value]) => [
          name,
          <SafeText key={name} text={untrusted(value)} maxCharacters={120} inline />,
        ])
        const text = rich(t, id, Object.fromEntries(parts))
        return <li key={key}>{address === undefined ? text : <Link href={address}>{text}</Link>}</li>
      })}
    </ul>
  )
}

/** The message of an error with its suggested fixes. */
export function ErrorNote({ error }: { error: Error }): ReactNode {
  return (
    <Note tone="danger" live>
      <HostText text={untrusted(error.message)} />
      {error instanceof HostError && <Fixes fixes={fromHost(error.fixes)} />}
    </Note>
  )
}

/** The address within the page where a fix is made; undefined if it is made elsewhere. */
function addressOf(fix: Fix): string | undefined {
  switch (fix.action) {
    case 'sign-in':
    case 'approve':
    case 'diagnose':
    case 'review':
      return routes.server.to(fix.server)
    case 'configure':
    case 'pass-variable':
    case 'uninstall':
      return routes.serverSetting.to(fix.server)
    case 'set-secret':
      return routes.secret.to(fix.name)
    case 'open-folder':
    case 'include-folders':
      return routes.setting.to('folders')
    case 'search-log':
      return routes.activities.to({ filter: fix.filter })
    case 'search-registry':
      return routes.setting.to('registry')
    case 'choose-model':
      return routes.setting.to('models')
    case 'record':
    case 'update':
      return undefined
  }
}
