import type { PolicyRule, Verdict } from '@jackfield/host/browser'
import { Ban, Check, Hand } from 'lucide-react'
import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { type FromHost, untrusted } from '../text/untrusted-text.ts'
import { Lamp } from '../ui/ui.tsx'
import style from './permissions.module.css'

export type Rule = FromHost<PolicyRule>

const lamps = {
  allow: { tone: 'ok', Icon: Check },
  ask: { tone: 'warn', Icon: Hand },
  deny: { tone: 'danger', Icon: Ban },
} as const

/** Shows a verdict by shape, word and colour. */
export function VerdictLamp({ verdict }: { verdict: Verdict }): ReactNode {
  const t = useText()
  const { tone, Icon } = lamps[verdict]
  return (
    <Lamp tone={tone} icon={<Icon size={16} strokeWidth={1.75} aria-hidden="true" />}>
      {t(`rule.${verdict}`)}
    </Lamp>
  )
}

/** The conditions of a rule besides server and tool. */
export function Conditions({ rule }: { rule: Rule }): ReactNode {
  const t = useText()
  const { hint, caller, label, gate, scope, arguments: tests } = rule
  return (
    <span className={style.conditions}>
      {hint !== undefined && <span className={style.condition}>{t(`hint.${hint}`)}</span>}
      {caller?.map((name) => (
        <span key={name} className={style.condition}>
          {t(`permissions.caller.${name}`)}
        </span>
      ))}
      {label !== undefined && (
        <span className={style.condition}>
          {t('permissions.label')}: <SafeText text={label} inline />
        </span>
      )}
      {gate === 'result' && <span className={style.condition}>{t('permissions.ofResults')}</span>}
      {scope !== undefined && (
        <span className={style.condition}>
          {t('permissions.scope')}: {t(`remember.${scope}`)}
        </span>
      )}
      {tests?.map((test) => {
        const { at, ...conditions } = test
        return (
          <span key={at} className={style.condition}>
            <SafeText text={untrusted(at)} inline />{' '}
            <SafeText
              text={untrusted(
                Object.entries(conditions)
                  .map(
                    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
                  )
                  .join(' '),
              )}
              maxCharacters={160}
              inline
            />
          </span>
        )
      })}
    </span>
  )
}
