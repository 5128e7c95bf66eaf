import type { ReactNode } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import style from './servers.module.css'
import type { ServerRow } from './state.tsx'

/** The command line or address of a server in parts, with file and line of its configuration. */
export function ConfigPart({ server, row }: { server: string; row: ServerRow }): ReactNode {
  const t = useText()
  const view = useRead('config.view', {}).data
  const entry = view?.servers.find(({ name }) => plainText(name) === server)
  const of = (name: string): string[] =>
    (entry?.fields ?? [])
      .filter(({ field }) => plainText(field) === name || plainText(field).startsWith(`${name}[`))
      .map(({ value }) => plainText(value))
  const argv = [...of('command'), ...of('args')]
  const remainingFields = (entry?.fields ?? []).filter(
    ({ field }) => !/^(?:command|args(?:\[\d+\])?|url)$/.test(plainText(field)),
  )
  return (
    <section className={style.part} aria-label={t('servers.origin')}>
      <h3>
        {t('servers.origin')}
        {entry !== undefined && (
          <small className={style.where}>
            <SafeText
              text={untrusted(placeOf(plainText(entry.file), entry.line))}
              maxCharacters={160}
              inline
            />
          </small>
        )}
      </h3>
      {argv.length > 1 ? (
        <ol className={style.argv}>
          {argv.map((argument, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one command have no other identity
            <li key={n}>
              <SafeText text={untrusted(argument)} />
            </li>
          ))}
        </ol>
      ) : (
        <div className={style.command}>
          <SafeText text={row.origin} />
        </div>
      )}
      {remainingFields.length > 0 && (
        <ul className={style.items}>
          {remainingFields.map(({ field, value, file, line }) => (
            <li key={plainText(field)}>
              <code>
                <SafeText text={field} inline />
              </code>
              <span className={style.grow}>
                <SafeText text={value} maxCharacters={200} inline />
              </span>
              <span className={style.where}>
                <SafeText text={untrusted(placeOf(plainText(file), line))} maxCharacters={80} inline />
              </span>
            </li>
          ))}
        </ul>
      )}
      {entry?.overridden.map(({ file, line }) => (
        <p key={plainText(file)} className={style.quiet}>
          {t('servers.overrides')}{' '}
          <SafeText text={untrusted(placeOf(plainText(file), line))} maxCharacters={160} inline />
        </p>
      ))}
    </section>
  )
}

/** The end of a path with the line: `…/trip/jackfield.json:12`. */
function placeOf(file: string, line: number | undefined): string {
  const parts = file.split('/')
  const short = parts.length > 4 ? `…/${parts.slice(-2).join('/')}` : file
  return line === undefined ? short : `${short}:${line}`
}
