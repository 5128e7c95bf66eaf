import type { CreateMessageParams, CreateMessageResult, SamplingContent } from '@jackfield/sdk'
import { type ReactNode, useEffect, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Blocks } from '../text/blocks.tsx'
import { ExactJson, Foreign, ForeignBox } from '../text/foreign.tsx'
import { foreign, plain, plainText } from '../text/foreign-type.ts'
import { Tokens } from '../text/tokens.tsx'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import { type QuestionOf, type Row, useAnswer } from './answer.ts'
import { DecisionButton } from './armed.tsx'
import { Card } from './card.tsx'
import { type JsonDraft, JsonEditor, useJsonDraft } from './json-draft.tsx'
import style from './questions.module.css'
import { DraftActs, EditedContent, EditedText, Side, SideText, TwoSides } from './two-sides.tsx'

type Scope = 'conversation' | 'always'

const isMessage = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'role' in value && 'content' in value
const isParams = ({ messages, maxTokens, systemPrompt }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(messages) &&
  messages.every(isMessage) &&
  typeof maxTokens === 'number' &&
  ['string', 'undefined'].includes(typeof systemPrompt)

function Deny({ onDeny }: { onDeny: () => void }): ReactNode {
  const t = useText()
  return (
    <DecisionButton onDecide={onDeny} data-act="deny-once">
      {t('act.deny')}
    </DecisionButton>
  )
}

/** A server wants a model's answer: what it asks for, and what would be sent to which model. */
export function SamplingRequestCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'sampling-request'>
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'sampling-request'>(row)
  const asked = plain<CreateMessageParams>(question.params)
  const draft = useJsonDraft(`${row.id}.params`, asked, isParams)
  const [model, setModel] = useState(question.choice.model)
  const [context, setContext] = useState(false)
  const [isPassing, setPassing] = useState(false)
  const { choice } = question
  const { server } = row.question.cause
  const allow = (remember?: Scope): void => {
    draft.forget()
    answering.send({
      verdict: 'allow',
      ...(draft.isEdited && draft.value !== undefined && { params: draft.value }),
      ...(model !== choice.model && { model }),
      ...(context && { context: true }),
      ...(remember !== undefined && { remember }),
    })
  }
  return (
    <Card
      row={row}
      title="sampling.title"
      answering={answering}
      version={`${draft.text} ${model} ${context}`}
      deny={<Deny onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <>
          <PassButton isOpen={isPassing} onToggle={() => setPassing(!isPassing)} />
          <DecisionButton
            look="primary"
            isOff={draft.value === undefined}
            onDecide={() => allow()}
            data-act="allow"
          >
            {t(draft.isEdited ? 'sampling.allowEdited' : 'sampling.allow')}
          </DecisionButton>
        </>
      }
      panel={
        isPassing && (
          <Pass server={server} stage="request" isOff={draft.value === undefined} onAllow={allow} />
        )
      }
    >
      <Problem text={question.problem} />
      <TwoSides
        left={<Asked title={t('sampling.asked', { server })} params={asked} />}
        right={
          <Sent
            question={question}
            draft={draft}
            server={server}
            model={model}
            onModel={setModel}
            context={context}
            onContext={setContext}
          />
        }
      />
    </Card>
  )
}

function Problem({ text }: { text: ReturnType<typeof foreign> | undefined }): ReactNode {
  if (text === undefined) return null
  return (
    <Note tone="danger" live>
      <Foreign text={text} />
    </Note>
  )
}

/** A request, to read. */
function Asked({ title, params }: { title: string; params: CreateMessageParams }): ReactNode {
  const t = useText()
  const { systemPrompt, messages, tools } = params
  return (
    <Side title={title}>
      {systemPrompt !== undefined && (
        <SideText label={t('sampling.system')}>
          <ForeignBox text={foreign(systemPrompt)} label={t('sampling.system')} />
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
                <Foreign text={foreign(name)} most={120} inline />
                {description !== undefined && (
                  <div className={style.was}>
                    <Foreign text={foreign(description)} most={400} />
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

/** Who a message is of, and which one it is. */
function nameOf(messages: CreateMessageParams['messages'], n: number, t: ReturnType<typeof useText>): string {
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
          <Foreign text={foreign(names.join(', '))} most={200} inline />
        </Term>
      )}
      {priorities.map(
        ([name, priority]) =>
          typeof priority === 'number' && (
            <Term key={name} name={t(name)}>
              <meter min={0} max={1} value={priority} aria-label={t(name)} />{' '}
              {t('sampling.ofOne', { priority: number(priority) })}
            </Term>
          ),
      )}
      <Term name={t('sampling.maxTokens')}>{number(maxTokens)}</Term>
      {temperature !== undefined && <Term name={t('sampling.temperature')}>{number(temperature)}</Term>}
      {stopSequences !== undefined && stopSequences.length > 0 && (
        <Term name={t('sampling.stop')}>
          <Foreign
            text={foreign(stopSequences.map((one) => JSON.stringify(one)).join(' '))}
            most={200}
            inline
          />
        </Term>
      )}
      {includeContext !== undefined && includeContext !== 'none' && (
        <Term name={t('sampling.wantsContext')}>
          <Foreign text={foreign(includeContext)} inline />
        </Term>
      )}
      {toolChoice?.mode !== undefined && (
        <Term name={t('sampling.toolChoice')}>
          <Foreign text={foreign(toolChoice.mode)} inline />
        </Term>
      )}
    </dl>
  )
}

function Term({ name, children }: { name: string; children: ReactNode }): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

/** What the model would get, each text of it editable. */
function Sent({
  question,
  draft,
  server,
  model,
  onModel,
  context,
  onContext,
}: {
  question: QuestionOf<'sampling-request'>
  draft: JsonDraft<CreateMessageParams>
  server: string
  model: string
  onModel: (model: string) => void
  context: boolean
  onContext: (context: boolean) => void
}): ReactNode {
  const t = useText()
  const [isJson, setJson] = useState(draft.value === undefined)
  const asked = plain<CreateMessageParams>(question.params)
  const params = draft.value
  const { choice } = question
  return (
    <Side title={t('sampling.sent')} note={<DraftActs draft={draft} isJson={isJson} onJson={setJson} />}>
      <Field label={t('sampling.model')} hint={<Foreign text={choice.why} />}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={model}
            onChange={({ target }) => onModel(target.value)}
          >
            {choice.ranking.map((ranked) => (
              <option key={ranked.model} value={ranked.model}>
                {ranked.model}
                {choice.ranking.length > 1 && ` · ${ranked.score.toFixed(2)}`}
              </option>
            ))}
          </select>
        )}
      </Field>
      {isJson || params === undefined ? (
        <JsonEditor label={t('sampling.edit')} draft={draft} />
      ) : (
        <>
          {params.systemPrompt !== undefined && (
            <EditedText
              label={t('sampling.system')}
              text={params.systemPrompt}
              before={asked.systemPrompt}
              onChange={(systemPrompt) => draft.setValue({ ...params, systemPrompt })}
            />
          )}
          {params.messages.map((message, n) => (
            <EditedContent<SamplingContent>
              // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
              key={n}
              content={message.content}
              before={asked.messages[n]?.content}
              label={nameOf(params.messages, n, t)}
              onChange={(content) =>
                draft.setValue({
                  ...params,
                  messages: params.messages.map((one, at) => (at === n ? { ...one, content } : one)),
                })
              }
            />
          ))}
          <Field label={t('sampling.maxTokens')}>
            {(ids) => (
              <input
                {...ids}
                className={`${uiStyle.input} ${style.count}`}
                type="number"
                min={1}
                step={1}
                value={params.maxTokens}
                onChange={({ target: { valueAsNumber } }) => {
                  if (Number.isSafeInteger(valueAsNumber) && valueAsNumber > 0)
                    draft.setValue({ ...params, maxTokens: valueAsNumber })
                }}
              />
            )}
          </Field>
        </>
      )}
      {question.context !== undefined && (
        <Context context={question.context} isOn={context} onChange={onContext} />
      )}
      <Weight question={question} params={params} isEdited={draft.isEdited} model={model} />
      <Budget server={server} />
    </Side>
  )
}

/** Texts of the conversation that a server wants added; off until the person ticks it. */
function Context({
  context,
  isOn,
  onChange,
}: {
  context: NonNullable<QuestionOf<'sampling-request'>['context']>
  isOn: boolean
  onChange: (isOn: boolean) => void
}): ReactNode {
  const t = useText()
  return (
    <label className={style.foreign}>
      <span className={style.row}>
        <input type="checkbox" checked={isOn} onChange={({ target }) => onChange(target.checked)} />
        {t('sampling.context', { count: context.texts.length })}
      </span>
      {context.texts.map(({ label, text }) => (
        <span key={plainText(label)}>
          <Foreign text={label} inline />: <Foreign text={text} most={400} />
        </span>
      ))}
    </label>
  )
}

/** What is typed, once no key was pressed for 300 ms. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 300)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

/** Tokens and price of what would be sent, and what is blanked in it. */
function Weight({
  question,
  params,
  isEdited,
  model,
}: {
  question: QuestionOf<'sampling-request'>
  params: CreateMessageParams | undefined
  isEdited: boolean
  model: string
}): ReactNode {
  const t = useText()
  const { number, money } = useFormat()
  const asked = plain<CreateMessageParams>(question.params)
  const text = useSettled(JSON.stringify(params ?? asked))
  const preview = useRead('sampling.preview', plain<CreateMessageParams>(JSON.parse(text)), {
    enabled: isEdited && params !== undefined,
  }).data
  const priced = useRead('models.list', {}).data?.find(({ id }) => id === model)
  const { estimate, redactions } = (isEdited ? preview : undefined) ?? question
  const { inputTokens, outputTokens } = estimate
  return (
    <>
      {redactions.map(({ rule, count, at }) => (
        <Note key={rule} tone="warn">
          {t('sampling.redaction', { rule, count })} <Foreign text={foreign(at.join(', '))} />
        </Note>
      ))}
      <p className={style.aside} role="status">
        {t('sampling.estimate', { input: number(inputTokens), output: number(outputTokens) })}
        {priced?.cost !== undefined &&
          ` · ${t('sampling.price', {
            price: money(
              (inputTokens * priced.cost.input + outputTokens * priced.cost.output) / 1_000_000,
              priced.currency,
            ),
          })}`}
      </p>
    </>
  )
}

/** What a server used of its tokens of a day, this request included. */
function Budget({ server }: { server: string }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const usage = useRead('sampling.usage', {}, { isFresh: true }).data?.find((one) => one.server === server)
  if (usage === undefined) return null
  const { tokensPerDay } = usage.limits
  const words = t('sampling.budget', { server, used: number(usage.tokens), limit: number(tokensPerDay) })
  return (
    <div className={style.message}>
      <progress
        className={style.bar}
        max={tokensPerDay}
        value={Math.min(usage.tokens, tokensPerDay)}
        aria-label={words}
      />
      <span className={style.role}>{words}</span>
    </div>
  )
}

function PassButton({ isOpen, onToggle }: { isOpen: boolean; onToggle: () => void }): ReactNode {
  const t = useText()
  return (
    <Button onClick={onToggle} aria-expanded={isOpen} data-act="remember">
      {t('act.allowFor')}
    </Button>
  )
}

/** Lets further requests, or answers, of a server pass without this card, and says what would not be shown then. */
function Pass({
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
  const usage = useRead('sampling.usage', {}, { isFresh: true }).data?.find((one) => one.server === server)
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

/** What the model answered, as the server would get it. */
export function SamplingResultCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'sampling-result'>
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const answering = useAnswer<'sampling-result'>(row)
  const made = plain<CreateMessageResult>(question.result)
  const draft = useJsonDraft(`${row.id}.result`, made, isMessage)
  const [isJson, setJson] = useState(draft.value === undefined)
  const [panel, setPanel] = useState<'again' | 'pass'>()
  const { choice, usage } = question
  const { server } = row.question.cause
  const result = draft.value
  const allow = (remember?: Scope): void => {
    draft.forget()
    answering.send({
      verdict: 'allow',
      ...(draft.isEdited && result !== undefined && { result }),
      ...(remember !== undefined && { remember }),
    })
  }
  const again = (model?: string): void =>
    answering.send({ verdict: 'regenerate', ...(model !== undefined && { model }) })
  return (
    <Card
      row={row}
      title="sampling.resultTitle"
      answering={answering}
      version={draft.text}
      deny={<Deny onDeny={() => answering.send({ verdict: 'deny' })} />}
      more={
        choice.ranking.length > 1 ? (
          <Button
            look="quiet"
            aria-expanded={panel === 'again'}
            onClick={() => setPanel(panel === 'again' ? undefined : 'again')}
            data-act="again"
          >
            {t('sampling.againWith')}
          </Button>
        ) : (
          <DecisionButton look="quiet" onDecide={() => again()} data-act="again">
            {t('sampling.again')}
          </DecisionButton>
        )
      }
      allow={
        <>
          <PassButton
            isOpen={panel === 'pass'}
            onToggle={() => setPanel(panel === 'pass' ? undefined : 'pass')}
          />
          <DecisionButton
            look="primary"
            isOff={result === undefined}
            onDecide={() => allow()}
            data-act="allow"
          >
            {t(draft.isEdited ? 'sampling.sendEdited' : 'sampling.send')}
          </DecisionButton>
        </>
      }
      panel={
        panel === 'pass' ? (
          <Pass server={server} stage="result" isOff={result === undefined} onAllow={allow} />
        ) : (
          panel === 'again' && (
            <div className={style.panel}>
              <p>{t('sampling.againMeans')}</p>
              <div className={style.row}>
                {choice.ranking.map(({ model }) => (
                  <DecisionButton key={model} onDecide={() => again(model)} data-act={`again-${model}`}>
                    {model}
                  </DecisionButton>
                ))}
              </div>
            </div>
          )
        )
      }
    >
      <Problem text={question.problem} />
      <TwoSides
        isRightFirst
        left={<Asked title={t('sampling.wasAsked')} params={plain<CreateMessageParams>(question.params)} />}
        right={
          <Side
            title={t('sampling.answer', { server })}
            note={<DraftActs draft={draft} isJson={isJson} onJson={setJson} />}
          >
            {isJson || result === undefined ? (
              <JsonEditor label={t('sampling.editAnswer')} draft={draft} />
            ) : (
              <EditedContent<SamplingContent>
                content={result.content}
                before={made.content}
                label={t('role.assistant')}
                onChange={(content) => draft.setValue({ ...result, content })}
              />
            )}
            <dl className={style.terms}>
              <Term name={t('sampling.model')}>
                <Foreign text={foreign(made.model)} most={120} inline />
              </Term>
              {made.stopReason !== undefined && (
                <Term name={t('sampling.stopReason')}>
                  <Foreign text={foreign(made.stopReason)} most={120} inline />
                </Term>
              )}
              <Term name={t('sampling.tokens')}>
                {usage === undefined ? (
                  <Tokens content={made.content} />
                ) : (
                  t('sampling.used', { input: number(usage.inputTokens), output: number(usage.outputTokens) })
                )}
              </Term>
            </dl>
            <Budget server={server} />
          </Side>
        }
      />
    </Card>
  )
}
