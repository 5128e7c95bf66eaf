import type { ExplainedField } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { ChangeReview, FileLocation, useChange } from '../config/change.tsx'
import { useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes, useAddress } from '../routes.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Badge, Button, Empty, Field, Note, uiStyle } from '../ui/ui.tsx'
import style from './settings.module.css'

/** Every configured server: enabled or not, the origin of each value, and an editor for its entry. */
export default function ServerSettings(): ReactNode {
  const t = useText()
  const { data, error } = useRead('config.view', {})
  const rows = useTopic('servers')
  const { query } = useAddress()
  const [open, setOpen] = useState(() => query.get('server') ?? undefined)
  const [editing, setEditing] = useState<string>()
  const change = useChange(() => setEditing(undefined))
  if (error !== null)
    return (
      <Note tone="info">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (data === undefined) return null
  return (
    <>
      <div className={screen.bar}>
        <p className={`${screen.muted} ${screen.grow}`}>{t('settings.serversMean')}</p>
        <Link className={`${uiStyle.button} ${uiStyle.primary}`} href={routes.setting.to('registry')}>
          {t('servers.add')}
        </Link>
      </div>
      {data.servers.length === 0 && <Empty title={t('servers.empty')} />}
      <ul className={style.servers} aria-label={t('settings.servers')}>
        {data.servers.map((server) => {
          const name = plainText(server.name)
          const row = rows?.get(name)
          const isOpen = open === name
          return (
            <li key={name} className={style.server} ref={query.get('server') === name ? intoView : undefined}>
              <div className={style.serverHead}>
                <Badge name={name} identity={row === undefined ? name : plainText(row.origin)} />
                <span className={style.serverName}>
                  <bdi>{name}</bdi>
                  <FileLocation file={plainText(server.file)} line={server.line} />
                </span>
                <span className={style.state}>
                  {row !== undefined && <StateLamp state={row.connection.state} />}
                </span>
                <span className={style.acts}>
                  <label className={style.switch}>
                    <input
                      type="checkbox"
                      role="switch"
                      checked={!server.disabled}
                      aria-checked={!server.disabled}
                      aria-label={t('settings.on', { server: name })}
                      onChange={() => {
                        setEditing(name)
                        void change.plan({ kind: 'enable', server: name, enabled: server.disabled })
                      }}
                    />
                    <span aria-hidden="true">{t(server.disabled ? 'settings.isOff' : 'settings.isOn')}</span>
                  </label>
                  <Button
                    small
                    aria-expanded={isOpen}
                    onClick={() => {
                      setOpen(isOpen ? undefined : name)
                      change.cancel()
                    }}
                  >
                    {t('settings.details')}
                  </Button>
                </span>
              </div>
              {isOpen && (
                <>
                  <FieldTable fields={plain<ExplainedField[]>(server.fields)} />
                  {server.overridden.map((other) => (
                    <p key={`${plainText(other.file)} ${other.line}`} className={screen.muted}>
                      {t('settings.overrides')}{' '}
                      <FileLocation file={plainText(other.file)} line={other.line} /> (
                      {t(`layer.${other.layer}`)})
                    </p>
                  ))}
                  <EntryEditor
                    key={data.version}
                    name={name}
                    onPlan={(entry) => {
                      setEditing(name)
                      void change.plan({ kind: 'server', name, entry })
                    }}
                  />
                </>
              )}
              {editing === name && <ChangeReview change={change} />}
            </li>
          )
        })}
      </ul>
    </>
  )
}

const intoView = (element: HTMLElement | null): void => element?.scrollIntoView({ block: 'nearest' })

/** Fields with the file and line of each. */
export function FieldTable({
  fields,
}: {
  fields: readonly { field: string; value: string; file: string; line?: number }[]
}): ReactNode {
  const t = useText()
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={screen.scroll} tabIndex={0} aria-label={t('settings.values')}>
      <table className={screen.table}>
        <thead>
          <tr>
            <th scope="col">{t('settings.field')}</th>
            <th scope="col">{t('settings.value')}</th>
            <th scope="col">{t('settings.from')}</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(({ field, value, file, line }) => (
            <tr key={`${field} ${file}`}>
              <td className={style.code}>
                <SafeText text={untrusted(field)} inline />
              </td>
              <td className={style.code}>
                <SafeText text={untrusted(value)} maxCharacters={400} />
              </td>
              <td>
                <FileLocation file={file} line={line} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** The entry of a server as JSON. Secrets are names in brackets, which stand for what the file has. */
function EntryEditor({
  name,
  onPlan,
}: {
  name: string
  onPlan: (entry: Record<string, unknown> | null) => void
}): ReactNode {
  const t = useText()
  const { data } = useRead('config.entry', { server: name })
  const [typed, setTyped] = useState<string>()
  if (data === undefined) return null
  const text = typed ?? JSON.stringify(data.entry, null, 2)
  const entry = objectIn(text)
  return (
    <div className={screen.stack}>
      <Field
        label={t('settings.entry')}
        hint={t('settings.entryHint')}
        problem={entry === undefined ? t('permissions.notJson') : undefined}
      >
        {(ids) => (
          <textarea
            {...ids}
            className={`${uiStyle.input} ${uiStyle.mono}`}
            rows={Math.min(20, text.split('\n').length + 1)}
            spellCheck={false}
            value={text}
            onChange={({ target }) => setTyped(target.value)}
          />
        )}
      </Field>
      <div className={screen.bar}>
        <Button
          look="primary"
          isOff={typed === undefined || entry === undefined}
          data-act="review"
          onClick={() => entry !== undefined && onPlan(entry)}
        >
          {t('change.review')}
        </Button>
        <Button data-act="remove" onClick={() => onPlan(null)}>
          {t('settings.removeServer')}
        </Button>
      </div>
    </div>
  )
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.fromEntries(Object.entries(value))
  } catch {
    return undefined
  }
}
