import type { CreateMessageParams, SamplingContent } from '@jackfield/sdk'
import { type ReactNode, useEffect, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { HostText, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Field, Note, uiStyle } from '../ui/ui.tsx'
import { type QuestionOf, type Row, useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'
import { type JsonDraft, JsonEditor, useJsonDraft } from './json-draft.tsx'
import style from './questions.module.css'
import { Asked, Budget, isMessage, nameOf, Pass, PassButton, Problem, type Scope } from './sampling-parts.tsx'
import { DraftActions, EditedContent, EditedText, Side, TwoSides } from './two-sides.tsx'

const isParams = ({ messages, maxTokens, systemPrompt }: Readonly<Record<string, unknown>>): boolean =>
  Array.isArray(messages) &&
  messages.every(isMessage) &&
  typeof maxTokens === 'number' &&
  ['string', 'undefined'].includes(typeof systemPrompt)

/** Asks whether to send a sampling request of a server: the request, and what would be sent to which model. */
export default function SamplingRequestCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'sampling-request'>
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'sampling-request'>(row)
  const request = plain<CreateMessageParams>(question.params)
  const draft = useJsonDraft(`${row.id}.params`, request, isParams)
  const [model, setModel] = useState(question.choice.model)
  const [texts, setTexts] = useState<readonly string[]>([])
  const [isPassing, setPassing] = useState(false)
  const { choice } = question
  const { server } = row.question.cause
  const allow = (remember?: Scope): void => {
    draft.forget()
    answering.send({
      verdict: 'allow',
      ...(draft.isEdited && draft.value !== undefined && { params: draft.value }),
      ...(model !== choice.model && { model }),
      ...(texts.length > 0 && { context: texts }),
      ...(remember !== undefined && { remember }),
    })
  }
  return (
    <Card
      row={row}
      title="sampling.title"
      answering={answering}
      version={`${draft.text} ${model} ${texts.join(' ')}`}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
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
        left={<Asked title={t('sampling.asked', { server })} params={request} />}
        right={
          <Sent
            question={question}
            draft={draft}
            server={server}
            model={model}
            onModel={setModel}
            texts={texts}
            onTexts={setTexts}
          />
        }
      />
    </Card>
  )
}

/** The request to the model, with editable texts. */
function Sent({
  question,
  draft,
  server,
  model,
  onModel,
  texts,
  onTexts,
}: {
  question: QuestionOf<'sampling-request'>
  draft: JsonDraft<CreateMessageParams>
  server: string
  model: string
  onModel: (model: string) => void
  texts: readonly string[]
  onTexts: (texts: readonly string[]) => void
}): ReactNode {
  const t = useText()
  const [isJson, setJson] = useState(draft.value === undefined)
  const request = plain<CreateMessageParams>(question.params)
  const params = draft.value
  const { choice } = question
  return (
    <Side title={t('sampling.sent')} note={<DraftActions draft={draft} isJson={isJson} onJson={setJson} />}>
      <Field label={t('sampling.model')} hint={<HostText text={choice.reason} />}>
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
              before={request.systemPrompt}
              onChange={(systemPrompt) => draft.setValue({ ...params, systemPrompt })}
            />
          )}
          {params.messages.map((message, n) => (
            <EditedContent<SamplingContent>
              // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
              key={n}
              content={message.content}
              before={request.messages[n]?.content}
              label={nameOf(params.messages, n, t)}
              onChange={(content) =>
                draft.setValue({
                  ...params,
                  messages: params.messages.map((message, index) =>
                    index === n ? { ...message, content } : message,
                  ),
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
        <Context context={question.context} ticked={texts} onChange={onTexts} />
      )}
      <TokensAndPrice
        question={question}
        params={params}
        isEdited={draft.isEdited}
        texts={texts}
        model={model}
      />
      <Budget server={server} />
    </Side>
  )
}

/** Texts of the conversation that a server requests as context; none is selected at first. */
function Context({
  context,
  ticked,
  onChange,
}: {
  context: NonNullable<QuestionOf<'sampling-request'>['context']>
  ticked: readonly string[]
  onChange: (ticked: readonly string[]) => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { texts } = context
  const tokens = texts.reduce((sum, text) => sum + (ticked.includes(text.id) ? text.tokens : 0), 0)
  return (
    <fieldset className={style.untrusted}>
      <legend className={style.role}>{t('sampling.context')}</legend>
      {texts.map(({ id, label, text, tokens: textTokens }) => (
        <div key={id} className={style.message}>
          <label className={style.agree}>
            <input
              type="checkbox"
              checked={ticked.includes(id)}
              onChange={({ target }) =>
                onChange(target.checked ? [...ticked, id] : ticked.filter((tickedId) => tickedId !== id))
              }
            />
            <SafeText text={label} maxCharacters={200} inline />
          </label>
          <details>
            <summary className={style.role}>
              {t('sampling.contextSize', { characters: plainText(text).length, tokens: textTokens })}
            </summary>
            <SafeTextBox text={text} label={t('sampling.contextText', { id })} />
          </details>
        </div>
      ))}
      <span className={style.role} role="status">
        {texts.length === 0
          ? t('sampling.contextNone')
          : t('sampling.contextTicked', { count: ticked.length, all: number(texts.length), tokens })}
      </span>
    </fieldset>
  )
}

/** The value after it has not changed for 300 ms. */
function useDebounced<T>(value: T): T {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), 300)
    return () => clearTimeout(timer)
  }, [value])
  return debounced
}

/** The estimated tokens and price of a request, and its redactions. */
function TokensAndPrice({
  question,
  params,
  isEdited,
  texts,
  model,
}: {
  question: QuestionOf<'sampling-request'>
  params: CreateMessageParams | undefined
  isEdited: boolean
  texts: readonly string[]
  model: string
}): ReactNode {
  const t = useText()
  const { number, money } = useFormat()
  const request = plain<CreateMessageParams>(question.params)
  const text = useDebounced(JSON.stringify(params ?? request))
  const preview = useRead('sampling.preview', plain<CreateMessageParams>(JSON.parse(text)), {
    enabled: isEdited && params !== undefined,
  }).data
  const priced = useRead('models.list', {}).data?.find(({ id }) => id === model)
  const { estimate, redactions } = (isEdited ? preview : undefined) ?? question
  const { outputTokens } = estimate
  const added = question.context?.texts.filter(({ id }) => texts.includes(id)) ?? []
  const inputTokens = added.reduce((sum, { tokens }) => sum + tokens, estimate.inputTokens)
  return (
    <>
      {redactions.map(({ rule, count, at }) => (
        <Note key={rule} tone="warn">
          {t('sampling.redaction', { rule, count })} <SafeText text={untrusted(at.join(', '))} />
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
