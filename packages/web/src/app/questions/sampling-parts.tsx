import type { CreateMessageParams } from '@jackfield/sdk'
import type { ReactNode } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Blocks } from '../text/blocks.tsx'
import { ExactJson, HostText, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, Note } from '../ui/ui.tsx'
import { DecisionButton } from './armed.tsx'
import style from './questions.module.css'
import { Side, SideText } from './two-sides.tsx'

/** For how long further requests or answers need no review. */
export type Scope = 'conversation' | 'always'

/** Whether a value has what the fields of a message need. */
export const isMessage = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'role' in value && 'content' in value

export function Problem({ text }: { text: ReturnType<typeof untrusted> | undefined }): ReactNode {
  if (text === undefined) return null
  return (
    <Note tone="danger" live>
      <HostText text={text} />
    </Note>
  )
}

/** A request, read-only. */
export function Asked({ title, params }: { title: string; params: CreateMessageParams }): ReactNode {
  const t = useText()
  const { systemPrompt, messages, tools } = params
  return (
    <Side title={title}>
      {systemPrompt !== undefined && (
        <SideText label={t('sampling.system')}>
          <SafeTextBox text={untrusted(systemPrompt)} label={t('sampling.system')} />
        </SideText>
      )}
      {messages.map(({ content }, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
        <SideText key={n} label={nameOf(messages, n, t)}>
          <Blocks content={content} label={nameOf(messages, n, t)} />
        </SideText>
      ))}
      {tools !== undefined && tools.length > 0 && (
        <details>
          <summary>{t('sampling.tools', { count: tools.length })}</summary>
          <ul className={style.tools}>
            {tools.map(({ name, description }) => (
              <li key={name}>
                <SafeText text={untrusted(name)} maxCharacters={120} inline />
                {description !== undefined && (
                  <div className={style.was}>
                    <SafeText text={untrusted(description)} maxCharacters={400} />
                  </div>
                )}
              </li>
            ))}
          </ul>
        </details>
      )}
      <Terms params={params} />
      <details>
        <summary>{t('sampling.exact')}</summary>
        <ExactJson value={params} label={t('sampling.exact')} />
      </details>
    </Side>
  )
}

/** The role of a message with its number among those of the role. */
export function nameOf(
  messages: CreateMessageParams['messages'],
  n: number,
  t: ReturnType<typeof useText>,
): string {
  const role = t(`role.${messages[n]?.role ?? 'user'}`)
  return messages.length > 1 ? t('sampling.message', { role, n: n + 1 }) : role
}

/** The model that a server prefers, and the limits that it sets. */
function Terms({ params }: { params: CreateMessageParams }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { modelPreferences = {}, maxTokens, temperature, stopSequences, includeContext, toolChoice } = params
  const { hints = [], costPriority, speedPriority, intelligencePriority } = modelPreferences
  const names = hints.map(({ name }) => name).filter((name) => name !== undefined)
  const priorities = [
    ['sampling.cost', costPriority],
    ['sampling.speed', speedPriority],
    ['sampling.intelligence', intelligencePriority],
  ] as const
  return (
    <dl className={style.terms}>
      {names.length > 0 && (
        <Term name={t('sampling.hints')}>
          <SafeText text={untrusted(names.join(', '))} maxCharacters={200} inline />
        </Term>
      )}
      {priorities.map(
        ([name, priority]) =>
          typeof priority === 'number' && (
            <Term key={name} name={t(name)}>
              <meter min={0} max={1} value={priority} aria-label={t(name)} /> {number(priority)}
            </Term>
          ),
      )}
      <Term name={t('sampling.maxTokens')}>{number(maxTokens)}</Term>
      {temperature !== undefined && <Term name={t('sampling.temperature')}>{number(temperature)}</Term>}
      {stopSequences !== undefined && stopSequences.length > 0 && (
        <Term name={t('sampling.stop')}>
          <SafeText
            text={untrusted(stopSequences.map((sequence) => JSON.stringify(sequence)).join(' '))}
            maxCharacters={200}
            inline
          />
        </Term>
      )}
      {includeContext !== undefined && includeContext !== 'none' && (
        <Term name={t('sampling.wantsContext')}>
          <SafeText text={untrusted(includeContext)} inline />
        </Term>
      )}
      {toolChoice?.mode !== undefined && (
        <Term name={t('sampling.toolChoice')}>
          <SafeText text={untrusted(toolChoice.mode)} inline />
        </Term>
      )}
    </dl>
  )
}

export function Term({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** The tokens of the daily limit that a server has used, including this request. */
export function Budget({ server }: { server: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const usage = useRead('sampling.usage', {}, { isFresh: true }).data?.find(
    (entry) => entry.server === server,
  )
  if (usage === undefined) return null
  const { tokensPerDay } = usage.limits
  const text = t('sampling.budget', { server, used: number(usage.tokens), limit: number(tokensPerDay) })
  return (
    <div className={style.message}>
      <progress
        className={style.bar}
        max={tokensPerDay}
        value={Math.min(usage.tokens, tokensPerDay)}
        aria-label={text}
      />
      <span className={style.role}>{text}</span>
    </div>
  )
}

export function PassButton({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }): ReactNode {
  const t = useText()
  return (
    <Button onClick={onToggle} aria-expanded={isOpen} data-act="remember">
      {t('act.allowFor')}
    </Button>
  )
}

/** Lets further requests, or answers, of a server pass without this card, and says what would not be shown then. */
export function Pass({
  server,
  stage,
  isOff,
  onAllow,
}: {
  server: string
  stage: 'request' | 'result'
  isOff: boolean
  onAllow: (scope: Scope) => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const usage = useRead('sampling.usage', {}, { isFresh: true }).data?.find(
    (entry) => entry.server === server,
  )
  return (
    <div className={style.panel}>
      <p>{t(stage === 'request' ? 'sampling.passRequest' : 'sampling.passResult', { server })}</p>
      {usage !== undefined && (
        <p className={style.aside}>
          {t('sampling.passLimit', {
            limit: number(usage.limits.autoTokensPerDay),
            left: number(Math.max(0, usage.limits.autoTokensPerDay - usage.autoTokens)),
          })}
        </p>
      )}
      <div className={style.row}>
        {(['conversation', 'always'] as const).map((scope) => (
          <DecisionButton
            key={scope}
            isOff={isOff}
            onDecide={() => onAllow(scope)}
            data-act={`pass-${scope}`}
          >
            {t(`remember.${scope}`)}
          </DecisionButton>
        ))}
      </div>
    </div>
  )
}
