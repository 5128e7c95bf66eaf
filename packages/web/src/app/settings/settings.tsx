import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useState } from 'react'
import { useAct, useRead, useTopic } from '../data/host.tsx'
import { endSession, logOut, readSessions } from '../data/session.ts'
import { type Language, languages, setLanguage, useFormat, useLanguage, useText } from '../i18n/i18n.ts'
import { Foreign } from '../text/foreign.tsx'
import { foreign, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'

const themes = ['system', 'light', 'dark'] as const
const isLanguage = (value: string): value is Language => Object.hasOwn(languages, value)

/** How the page looks, and what the host has: models, folders, secrets, limits. */
export default function SettingsScreen(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const language = useLanguage()
  const [theme, setTheme] = useState(() => localStorage.getItem('jackfield.theme') ?? 'system')
  const models = useRead('models.list', {}).data
  const folders = useRead('roots.list', {}).data
  const secrets = useRead('secrets.names', {}).data
  const usage = useRead('sampling.usage', {}).data
  const surfaces = useTopic('surfaces')
  return (
    <div className={screen.screen}>
      <section className={screen.section}>
        <h2>{t('settings.look')}</h2>
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
                {themes.map((one) => (
                  <option key={one} value={one}>
                    {t(`theme.${one}`)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
      </section>
      <section className={screen.section}>
        <h2>{t('settings.models')}</h2>
        <ul className={screen.rows}>
          {models?.map(({ id, isLanguageModel, contextTokens }) => (
            <li key={id} className={screen.row}>
              <span className={screen.name}>{id}</span>
              <span className={screen.muted}>{!isLanguageModel && t('settings.offline')}</span>
              <span className={screen.muted}>
                {contextTokens !== null && t('chat.context', { tokens: number(contextTokens) })}
              </span>
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.section}>
        <h2>{t('settings.folders')}</h2>
        {folders?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
        <ul className={screen.rows}>
          {folders?.map(({ uri, from }) => (
            <li key={plainText(uri)} className={screen.row}>
              <Foreign text={uri} /> <span className={screen.muted}>{t(`folder.${from}`)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.section}>
        <h2>{t('settings.secrets')}</h2>
        <p className={screen.muted}>{t('settings.secretsMean')}</p>
        {secrets?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
        <ul className={screen.rows}>
          {secrets?.map((name) => (
            <li key={plainText(name)} className={screen.row}>
              <Foreign text={name} />
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.section}>
        <h2>{t('settings.sampling')}</h2>
        {usage?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
        <ul className={screen.rows}>
          {usage?.map(({ server, tokens, requests, limits }) => (
            <li key={server} className={screen.row}>
              <span className={screen.name}>{server}</span>
              <span className={screen.muted}>
                {t('settings.usage', {
                  requests,
                  most: limits.requestsPerMinute,
                  tokens: number(tokens),
                  day: number(limits.tokensPerDay),
                })}
              </span>
            </li>
          ))}
        </ul>
      </section>
      <section className={screen.section}>
        <h2>{t('settings.surfaces')}</h2>
        <ul className={screen.rows}>
          {[...Map.groupBy(surfaces?.values() ?? [], ({ name }) => plainText(name))].map(([name, all]) => (
            <li key={name} className={screen.row}>
              <span className={screen.name}>
                <Foreign text={foreign(name)} inline />
              </span>
              <span className={screen.muted}>{all.length > 1 && `× ${number(all.length)}`}</span>
            </li>
          ))}
        </ul>
      </section>
      <Sessions />
    </div>
  )
}

/** The browsers that are logged in. Each is a session of its own, which can be ended here. */
function Sessions(): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { data, error, refetch } = useQuery({ queryKey: ['sessions'], queryFn: readSessions })
  const end = useAct(
    useCallback(
      async (id: string) => {
        await endSession(id)
        await refetch()
      },
      [refetch],
    ),
  )
  const out = useAct(logOut)
  const problem = error ?? end.error ?? out.error
  return (
    <section className={screen.section}>
      <h2>{t('settings.sessions')}</h2>
      <p className={screen.muted}>{t('settings.sessionsMean')}</p>
      {problem != null && (
        <Note tone="danger" live>
          <Foreign text={foreign(problem.message)} />
        </Note>
      )}
      <ul className={screen.rows}>
        {data?.map(({ id, name, used, isThis }) => (
          <li key={id} className={screen.row}>
            <span className={screen.name}>{name}</span>
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
