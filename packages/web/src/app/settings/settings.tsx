import { type ReactNode, useState } from 'react'
import { useRead, useTopic } from '../data/host.tsx'
import { type Language, languages, setLanguage, useFormat, useLanguage, useText } from '../i18n/i18n.ts'
import { Foreign } from '../text/foreign.tsx'
import { plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Field, uiStyle } from '../ui/ui.tsx'

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
      <h2>{t('settings.folders')}</h2>
      {folders?.length === 0 && <p className={screen.muted}>{t('settings.none')}</p>}
      <ul className={screen.rows}>
        {folders?.map(({ uri, from }) => (
          <li key={plainText(uri)} className={screen.row}>
            <Foreign text={uri} /> <span className={screen.muted}>{t(`folder.${from}`)}</span>
          </li>
        ))}
      </ul>
      <h2>{t('settings.secrets')}</h2>
      <p className={screen.muted}>{t('settings.secretsMean')}</p>
      <ul className={screen.rows}>
        {secrets?.map((name) => (
          <li key={plainText(name)} className={screen.row}>
            <Foreign text={name} />
          </li>
        ))}
      </ul>
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
      <h2>{t('settings.surfaces')}</h2>
      <ul className={screen.rows}>
        {[...(surfaces?.entries() ?? [])].map(([id, { name }]) => (
          <li key={id} className={screen.row}>
            <Foreign text={name} />
          </li>
        ))}
      </ul>
    </div>
  )
}
