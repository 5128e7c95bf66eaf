import { type ReactNode, useId, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Author } from '../text/author.tsx'
import { isRecord } from '../text/pieces.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Field, Note, uiStyle } from '../ui/ui.tsx'
import { callers } from './draft-rule.ts'
import style from './permissions.module.css'
import { Conditions, VerdictLamp } from './rule-text.tsx'

/** Explains how policy decides about a call, without making the call. */
export function Explain(): ReactNode {
  const t = useText()
  const id = useId()
  const tools = useRead('catalog.tools', {}).data ?? []
  const [tool, setTool] = useState('')
  const [args, setArgs] = useState('{}')
  const [caller, setCaller] = useState<(typeof callers)[number]>('chat')
  const parsed = objectIn(args)
  const isKnown = tools.some(({ name }) => plainText(name) === tool)
  return (
    <>
      <p className={screen.muted}>{t('permissions.explainMeans')}</p>
      <div className={style.explain}>
        <div className={screen.stack}>
          <Field
            label={t('permissions.tool')}
            problem={tool !== '' && !isKnown ? t('permissions.unknownTool') : undefined}
          >
            {(ids) => (
              <input
                {...ids}
                className={uiStyle.input}
                list={`${id}-tools`}
                placeholder="server__tool"
                spellCheck={false}
                value={tool}
                onChange={({ target }) => setTool(target.value)}
              />
            )}
          </Field>
          <datalist id={`${id}-tools`}>
            {tools.map(({ name }) => (
              <option key={plainText(name)} value={plainText(name)} />
            ))}
          </datalist>
          <Field
            label={t('permissions.arguments')}
            problem={parsed === undefined ? t('permissions.notJson') : undefined}
          >
            {(ids) => (
              <textarea
                {...ids}
                className={`${uiStyle.input} ${uiStyle.mono}`}
                rows={6}
                spellCheck={false}
                value={args}
                onChange={({ target }) => setArgs(target.value)}
              />
            )}
          </Field>
          <Field label={t('permissions.calledBy')}>
            {(ids) => (
              <select
                {...ids}
                className={uiStyle.input}
                value={caller}
                onChange={({ target }) =>
                  setCaller(callers.find((option) => option === target.value) ?? 'chat')
                }
              >
                {callers.map((option) => (
                  <option key={option} value={option}>
                    {t(`permissions.caller.${option}`)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        {isKnown && parsed !== undefined ? (
          <Explanation tool={tool} args={parsed} caller={caller} />
        ) : (
          <p className={screen.nothing}>{t('permissions.explainChoose')}</p>
        )}
      </div>
    </>
  )
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function Explanation({
  tool,
  args,
  caller,
}: {
  tool: string
  args: Record<string, unknown>
  caller: (typeof callers)[number]
}): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { data, error } = useRead('policy.explain', { tool, arguments: args, caller })
  if (error !== null)
    return (
      <Note tone="danger">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (data === undefined) return null
  const { decision, matched, grants, labels, remember, result } = data
  return (
    <section className={style.answer} aria-label={t('permissions.view.explain')}>
      <h3>
        <VerdictLamp verdict={decision.verdict} />
      </h3>
      <dl className={style.facts}>
        <dt>{t('permissions.column.byRule')}</dt>
        <dd>{decision.rule === 'default' ? t('permissions.noMatch') : decision.rule}</dd>
        {decision.author !== undefined && (
          <>
            <dt>{t('permissions.author')}</dt>
            <dd>
              <Author text={decision.author} />
            </dd>
          </>
        )}
        {decision.at !== undefined && (
          <>
            <dt>{t('permissions.since')}</dt>
            <dd>{dateTime(decision.at)}</dd>
          </>
        )}
        {decision.verdict === 'ask' && (
          <>
            <dt>{t('permissions.scope')}</dt>
            <dd>
              {remember.length === 0
                ? t('permissions.neverRemembered')
                : remember.map((scope) => t(`remember.${scope}`)).join(' · ')}
            </dd>
          </>
        )}
        {labels.length > 0 && (
          <>
            <dt>{t('permissions.labels')}</dt>
            <dd>
              <SafeText text={untrusted(labels.map(plainText).join(', '))} inline />
            </dd>
          </>
        )}
        {result !== undefined && (
          <>
            <dt>{t('permissions.ofResults')}</dt>
            <dd>
              {t(`rule.${result.verdict}`)} · {result.rule}
            </dd>
          </>
        )}
      </dl>
      <div>
        <h3>{t('permissions.matchedRules', { count: matched.length })}</h3>
        <ul className={screen.rows}>
          {matched.map((rule) => (
            <li
              key={`${rule.id} ${rule.author === undefined ? '' : plainText(rule.author)}`}
              className={screen.row}
            >
              <VerdictLamp verdict={rule.verdict} />
              <span className={style.what}>{rule.id}</span>
              <Conditions rule={rule} />
            </li>
          ))}
        </ul>
      </div>
      {grants.length > 0 && (
        <div>
          <h3>{t('permissions.view.given')}</h3>
          <ul className={screen.rows}>
            {grants.map((grant) => (
              <li key={grant.id} className={screen.row}>
                <VerdictLamp verdict={grant.verdict} />
                <span>{t(`remember.${grant.scope}`)}</span>
                <span className={screen.muted}>{dateTime(grant.at)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  )
}
