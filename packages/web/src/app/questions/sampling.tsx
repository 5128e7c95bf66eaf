import type { CallToolResult, CreateMessageParams, CreateMessageResult } from '@jackfield/sdk'
import { type ReactNode, useState } from 'react'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Blocks } from '../text/blocks.tsx'
import { ExactJson, Foreign, ForeignBox } from '../text/foreign.tsx'
import { foreign, plain, plainText } from '../text/foreign-type.ts'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import { isText, type QuestionOf, type Row, useAnswer, useDraft } from './answer.ts'
import { readArguments } from './arguments.tsx'
import { DecisionButton } from './armed.tsx'
import { Card } from './card.tsx'
import style from './questions.module.css'

/** An editor of a JSON value that keeps its draft. */
function useJsonDraft<T extends object>(
  key: string,
  first: T,
): {
  text: string
  setText(text: string): void
  value: T | undefined
  isEdited: boolean
  problem: string | undefined
  forget(): void
} {
  const original = JSON.stringify(first, null, 2)
  const [text, setText, forget] = useDraft(key, original, isText)
  const read = readArguments(text)
  const value = 'value' in read ? plain<T>(JSON.parse(text)) : undefined
  return {
    text,
    setText,
    value,
    isEdited: text !== original,
    problem: 'problem' in read ? read.problem : undefined,
    forget,
  }
}

function JsonEditor({ label, draft }: { label: string; draft: ReturnType<typeof useJsonDraft> }): ReactNode {
  return (
    <Field
      label={label}
      problem={draft.problem === undefined ? undefined : <Foreign text={foreign(draft.problem)} />}
    >
      {(ids) => (
        <textarea
          {...ids}
          className={`${uiStyle.input} ${uiStyle.mono}`}
          rows={14}
          spellCheck={false}
          value={draft.text}
          onChange={({ target }) => draft.setText(target.value)}
        />
      )}
    </Field>
  )
}

function Deny({ onDeny }: { onDeny: () => void }): ReactNode {
  const t = useText()
  return (
    <DecisionButton onDecide={onDeny} data-act="deny-once">
      {t('act.deny')}
    </DecisionButton>
  )
}

/** A server wants a model's answer: what would be asked, of which model. */
export function SamplingRequestCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'sampling-request'>
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const answering = useAnswer<'sampling-request'>(row)
  const draft = useJsonDraft(`${row.id}.params`, plain<CreateMessageParams>(question.params))
  const [isEditing, setEditing] = useState(false)
  const [model, setModel] = useState(question.choice.model)
  const [context, setContext] = useState(false)
  const { estimate, redactions, choice } = question
  const params = draft.value ?? plain<CreateMessageParams>(question.params)
  const allow = (remember?: 'conversation' | 'always'): void => {
    draft.forget()
    answering.send({
      verdict: 'allow',
      ...(draft.isEdited && { params }),
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
      facts={
        <span>
          {t('sampling.estimate', {
            input: number(estimate.inputTokens),
            output: number(estimate.outputTokens),
          })}
          {estimate.cost !== undefined && ` · ${estimate.cost.toFixed(4)} ${estimate.currency ?? ''}`}
        </span>
      }
      deny={<Deny onDeny={() => answering.send({ verdict: 'deny' })} />}
      more={
        <Button look="quiet" onClick={() => setEditing(!isEditing)} aria-expanded={isEditing} data-act="edit">
          {t('act.edit')}
        </Button>
      }
      allow={
        <>
          <DecisionButton onDecide={() => allow('conversation')}>{t('sampling.pass')}</DecisionButton>
          <DecisionButton
            look="primary"
            isOff={draft.value === undefined}
            onDecide={() => allow()}
            data-act="allow"
          >
            {t('sampling.allow')}
          </DecisionButton>
        </>
      }
    >
      {question.problem !== undefined && (
        <Note tone="danger" live>
          <Foreign text={question.problem} />
        </Note>
      )}
      <Field label={t('sampling.model')} hint={<Foreign text={choice.why} />}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={model}
            onChange={({ target }) => setModel(target.value)}
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
      {isEditing ? (
        <JsonEditor label={t('sampling.edit')} draft={draft} />
      ) : (
        <>
          {params.systemPrompt !== undefined && (
            <div className={style.message}>
              <span className={style.role}>{t('sampling.system')}</span>
              <ForeignBox text={foreign(params.systemPrompt)} label={t('sampling.system')} />
            </div>
          )}
          {params.messages.map(({ role, content }, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
            <div key={n} className={style.message}>
              <span className={style.role}>{t(`role.${role}`)}</span>
              <Blocks content={content} label={t(`role.${role}`)} />
            </div>
          ))}
          <details>
            <summary>{t('sampling.exact')}</summary>
            <ExactJson value={params} label={t('sampling.exact')} />
          </details>
        </>
      )}
      {redactions.map(({ rule, count, at }) => (
        <Note key={rule} tone="warn">
          {t('sampling.redaction', { rule, count })} <Foreign text={foreign(at.join(', '))} />
        </Note>
      ))}
      {question.context !== undefined && (
        <label className={style.foreign}>
          <span className={style.row}>
            <input type="checkbox" checked={context} onChange={({ target }) => setContext(target.checked)} />
            {t('sampling.context', { count: question.context.texts.length })}
          </span>
          {question.context.texts.map(({ label, text }) => (
            <span key={plainText(label)}>
              <Foreign text={label} inline />: <Foreign text={text} most={400} />
            </span>
          ))}
        </label>
      )}
    </Card>
  )
}

/** What the server would be given of a model's answer. */
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
  const draft = useJsonDraft(`${row.id}.result`, plain<CreateMessageResult>(question.result))
  const [isEditing, setEditing] = useState(false)
  const result = draft.value ?? plain<CreateMessageResult>(question.result)
  return (
    <Card
      row={row}
      title="sampling.resultTitle"
      answering={answering}
      version={draft.text}
      facts={
        <span>
          {question.choice.model}
          {question.usage !== undefined &&
            ` · ${number(question.usage.inputTokens)} → ${number(question.usage.outputTokens)}`}
        </span>
      }
      deny={<Deny onDeny={() => answering.send({ verdict: 'deny' })} />}
      more={
        <>
          <DecisionButton
            look="quiet"
            onDecide={() => answering.send({ verdict: 'regenerate' })}
            data-act="again"
          >
            {t('sampling.again')}
          </DecisionButton>
          <Button
            look="quiet"
            onClick={() => setEditing(!isEditing)}
            aria-expanded={isEditing}
            data-act="edit"
          >
            {t('act.edit')}
          </Button>
        </>
      }
      allow={
        <DecisionButton
          look="primary"
          isOff={draft.value === undefined}
          onDecide={() => {
            draft.forget()
            answering.send({ verdict: 'allow', ...(draft.isEdited && { result }) })
          }}
          data-act="allow"
        >
          {t('sampling.send')}
        </DecisionButton>
      }
    >
      {question.problem !== undefined && (
        <Note tone="danger" live>
          <Foreign text={question.problem} />
        </Note>
      )}
      {isEditing ? (
        <JsonEditor label={t('sampling.edit')} draft={draft} />
      ) : (
        <Blocks content={result.content} label={t('role.assistant')} />
      )}
    </Card>
  )
}

/** May the caller see this result of a tool, and as it is? */
export function ResultCard({ row, question }: { row: Row; question: QuestionOf<'result'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'result'>(row)
  const draft = useJsonDraft(`${row.id}.result`, plain<CallToolResult>(question.result))
  const [isEditing, setEditing] = useState(false)
  const result = draft.value
  return (
    <Card
      row={row}
      title="result.title"
      answering={answering}
      version={draft.text}
      facts={<span>{t('result.rule', { rule: question.decision.rule })}</span>}
      deny={
        <DecisionButton onDecide={() => answering.send({ verdict: 'deny' })} data-act="deny-once">
          {t('result.withhold')}
        </DecisionButton>
      }
      more={
        <Button look="quiet" onClick={() => setEditing(!isEditing)} aria-expanded={isEditing} data-act="edit">
          {t('act.edit')}
        </Button>
      }
      allow={
        <DecisionButton
          look="primary"
          isOff={result === undefined}
          onDecide={() => {
            draft.forget()
            answering.send({ verdict: 'allow', ...(draft.isEdited && result !== undefined && { result }) })
          }}
          data-act="allow"
        >
          {t('result.pass')}
        </DecisionButton>
      }
    >
      <h3>{t('result.result')}</h3>
      {isEditing ? (
        <JsonEditor label={t('result.result')} draft={draft} />
      ) : (
        <Blocks content={result?.content ?? []} label={t('result.result')} />
      )}
      <details>
        <summary>{t('result.arguments')}</summary>
        <ExactJson value={question.arguments} label={t('result.arguments')} />
      </details>
    </Card>
  )
}
