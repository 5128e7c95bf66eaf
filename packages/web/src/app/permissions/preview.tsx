import { type ReactNode, useDeferredValue, useMemo } from 'react'
import { Link } from 'wouter'
import { useRead } from '../data/host.tsx'
import { rich, useFormat, useText } from '../i18n/i18n.ts'
import { ruleKind } from '../questions/rule-kind.ts'
import { routes } from '../routes.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Note } from '../ui/ui.tsx'
import { type DraftRule, previewRule } from './draft-rule.ts'
import style from './permissions.module.css'

const maxCalls = 200

/** The calls of the last 30 days that a rule would have decided. `isOpen`: whether they are listed at first. */
export function Preview({ draft, isOpen = false }: { draft: DraftRule; isOpen?: boolean }): ReactNode {
  const t = useText()
  const { number, dateTime } = useFormat()
  const later = useDeferredValue(draft)
  const rule = useMemo(() => previewRule(later), [later])
  const { data, error } = useRead(
    'policy.preview',
    { rule: rule ?? { id: '', verdict: 'ask' } },
    { enabled: rule !== undefined },
  )
  if (rule === undefined) return <p className={screen.muted}>{t('permissions.previewWaits')}</p>
  if (error !== null)
    return (
      <Note tone="danger">
        <HostText text={untrusted(error.message)} />
      </Note>
    )
  if (data === undefined) return null
  const { matched, considered, uncertain } = data
  const asking = matched.filter(({ decision }) => decision.verdict === 'ask').length
  const other = matched.filter(({ decision, verdict }) => decision.verdict !== verdict).length
  const part = (count: number): number => (considered === 0 ? 0 : (count / considered) * 100)
  return (
    <section className={style.outcome} aria-label={t('permissions.outcome')}>
      <p className={style.counts} role="status">
        {rich(t, 'permissions.matched', {
          matched: <strong>{number(matched.length)}</strong>,
          considered: number(considered),
        })}{' '}
        {t('permissions.asked', { asked: asking })}{' '}
        {other > 0 && t('permissions.otherwise', { count: other })}{' '}
        {uncertain > 0 && t('permissions.uncertain', { count: uncertain })}
      </p>
      <span className={style.bar} aria-hidden="true">
        <span
          className={style.same}
          ref={(element) => element?.style.setProperty('--part', String(part(matched.length - asking)))}
        />
        <span
          className={style.other}
          ref={(element) => element?.style.setProperty('--part', String(part(asking)))}
        />
      </span>
      {isOpen && matched.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        <section className={screen.scroll} tabIndex={0} aria-label={t('permissions.calls')}>
          <table className={screen.table}>
            <thead>
              <tr>
                {['when', 'call', 'caller', 'was', 'byRule', 'wouldBe'].map((column) => (
                  <th key={column} scope="col">
                    {t(`permissions.column.${column}`)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {matched
                .slice(-maxCalls)
                .toReversed()
                .map((call) => (
                  <tr key={call.activity}>
                    <td>
                      <Link href={routes.activity.to(call.activity)}>{dateTime(call.at)}</Link>
                    </td>
                    <td>
                      {call.server} <SafeText text={call.tool} maxCharacters={80} inline />
                    </td>
                    <td>{t(`permissions.caller.${call.caller}`)}</td>
                    <td>{t(`rule.${call.decision.verdict}`)}</td>
                    <td>
                      {t('permissions.ruleKind', {
                        kind: ruleKind(call.decision.rule),
                        rule: call.decision.rule,
                      })}
                    </td>
                    <td>{t(`rule.${call.verdict}`)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
          {matched.length > maxCalls && (
            <p className={screen.muted}>{t('permissions.moreCalls', { count: matched.length - maxCalls })}</p>
          )}
        </section>
      )}
    </section>
  )
}
