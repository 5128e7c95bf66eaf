import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useState } from 'react'
import { useAction, useRead, useTopic } from '../data/host.tsx'
import { type Language, languages, setLanguage, useFormat, useLanguage, useText } from '../i18n/i18n.ts'
import { folderOf } from '../text/pieces.ts'
import { ClientName, HostText, SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import { endSession, logOut, readSessions } from './sessions.ts'

const themes = ['system', 'light', 'dark'] as const
const isLanguage = (value: string): value is Language => Object.hasOwn(languages, value)

/** Language and theme of the page. */
export function Appearance(): ReactNode {
  const t = useText()
  const language = useLanguage()
  const [theme, setTheme] = useState(() => localStorage.getItem('jackfield.theme') ?? 'system')
  return (
    <div className={screen.bar}>
      <Field label={t('settings.language')}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={language}
            onChange={({ target }) =>
              void (isLanguage(target.value) && setLanguage(target.value, { keep: true }))
            }
          >
            {Object.entries(languages).map(([code, name]) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t('settings.theme')}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={theme}
            onChange={({ target }) => {
              setTheme(target.value)
              if (target.value === 'system') {
                localStorage.removeItem('jackfield.theme')
                delete document.documentElement.dataset['theme']
              } else {
                localStorage.setItem('jackfield.theme', target.value)
                document.documentElement.dataset['theme'] = target.value
              }
            }}
          >
            {themes.map((option) => (
              <option key={option} value={option}>
                {t(`theme.${option}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  )
}

/** The folders that may be offered to servers. */
export function Folders(): ReactNode {
  const t = useText()
  const folders = useRead('roots.list', {}).data
  return (
    <>
      <p className={screen.muted}>{t('settings.foldersMean')}</p>
      {folders?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
      <ul className={screen.rows}>
        {folders?.map(({ uri, from }) => (
          <li key={plainText(uri)} className={screen.row}>
            <span className={screen.grow}>
              <SafeText text={untrusted(folderOf(plainText(uri)))} />
            </span>
            <span className={screen.muted}>{t(`folder.${from}`)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Where the host is shown: terminals and browsers, and the browsers that are logged in. */
export function Surfaces(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const surfaces = useTopic('surfaces')
  return (
    <>
      <section className={screen.section}>
        <h3>{t('settings.connected')}</h3>
        <ul className={screen.rows}>
          {[...Map.groupBy(surfaces?.values() ?? [], ({ name }) => plainText(name))].map(([name, all]) => (
            <li key={name} className={screen.row}>
              <span className={screen.name}>
                {name === 'web' ? t('settings.surfaceWeb') : <SafeText text={untrusted(name)} inline />}
              </span>
              <span className={screen.muted}>{all.length > 1 && `× ${number(all.length)}`}</span>
            </li>
          ))}
        </ul>
      </section>
      <Sessions />
    </>
  )
}

/** The browsers that are logged in. Each is a session of its own, which can be ended here. */
function Sessions(): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { data, error, refetch } = useQuery({ queryKey: ['sessions'], queryFn: readSessions })
  const end = useAction(
    useCallback(
      async (id: string) => {
        await endSession(id)
        await refetch()
      },
      [refetch],
    ),
  )
  const out = useAction(logOut)
  const problem = error ?? end.error ?? out.error
  return (
    <section className={screen.section}>
      <h3>{t('settings.sessions')}</h3>
      <p className={screen.muted}>
        {data?.user === undefined
          ? t('settings.sessionsMean')
          : t('settings.signedInAs', { user: data.user, hours: data.hours ?? 0 })}
      </p>
      {problem != null && (
        <Note tone="danger" live>
          <HostText text={untrusted(problem.message)} />
        </Note>
      )}
      <ul className={screen.rows}>
        {data?.sessions.map(({ id, name, used, isThis }) => (
          <li key={id} className={screen.row}>
            <span className={screen.name}>
              <ClientName name={name} />
            </span>
            <span className={`${screen.grow} ${screen.muted}`}>
              {isThis ? t('settings.thisBrowser') : t('settings.used', { time: dateTime(used) })}
            </span>
            {isThis ? (
              <Button small isOff={out.isRunning} onClick={() => out.run()}>
                {t('settings.logOut')}
              </Button>
            ) : (
              <Button small isOff={end.isRunning} onClick={() => end.run(id)}>
                {t('settings.endSession')}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
