import type { CreateMessageParams, CreateMessageResult, SamplingContent } from '@jackfield/sdk'
import { type ReactNode, useId, useState } from 'react'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Blocks } from '../text/blocks.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { Tokens } from '../text/tokens.tsx'
import { type FromHost, plain, untrusted } from '../text/untrusted-text.ts'
import { Button } from '../ui/ui.tsx'
import { type QuestionOf, type Row, useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'
import { type JsonDraft, JsonEditor, useJsonDraft } from './json-draft.tsx'
import style from './questions.module.css'
import { Asked, Budget, isMessage, Pass, PassButton, Problem, type Scope, Term } from './sampling-parts.tsx'
import { DraftActions, EditedContent, Side, TwoSides } from './two-sides.tsx'

interface Candidate {
  /** The id of the model that was asked. */
  readonly model: string
  readonly result: CreateMessageResult
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined
}

/** The answer of the model for the server. Earlier generated answers can be compared and chosen. */
export default function SamplingResultCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'sampling-result'>
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'sampling-result'>(row)
  const candidates = candidatesOf(question)
  const newest = candidates.length - 1
  const [chosen, setChosen] = useState(() => chosenIn(row) ?? newest)
  const originalResult = candidates[chosen]?.result ?? plain<CreateMessageResult>(question.result)
  const draft = useJsonDraft(`${row.id}.result.${chosen}`, originalResult, isMessage)
  const [panel, setPanel] = useState<'again' | 'pass'>()
  const { choice } = question
  const { server } = row.question.cause
  const result = draft.value
  const allow = (remember?: Scope): void => {
    draft.forget()
    answering.send({
      verdict: 'allow',
      ...(chosen !== newest && { chosen }),
      ...(draft.isEdited && result !== undefined && { result }),
      ...(remember !== undefined && { remember }),
    })
  }
  const again = (model?: string): void =>
    answering.send({ verdict: 'regenerate', ...(model !== undefined && { model }) })
  const request = plain<CreateMessageParams>(question.params)
  return (
    <Card
      row={row}
      title="sampling.resultTitle"
      answering={answering}
      version={`${chosen} ${draft.text}`}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
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
      {candidates.length > 1 ? (
        <>
          <Compare candidates={candidates} chosen={chosen} onChoose={setChosen} draft={draft} />
          <Budget server={server} />
          <details>
            <summary>{t('sampling.wasAsked')}</summary>
            <Asked title={t('sampling.wasAsked')} params={request} />
          </details>
        </>
      ) : (
        <TwoSides
          isRightFirst
          left={<Asked title={t('sampling.wasAsked')} params={request} />}
          right={
            <Answer
              title={t('sampling.answer', { server })}
              label={t('role.assistant')}
              candidate={{ model: choice.model, result: originalResult, usage: question.usage }}
              draft={draft}
            >
              <Budget server={server} />
            </Answer>
          }
        />
      )}
    </Card>
  )
}

/** The answers in the order in which they were generated. */
function candidatesOf({ earlier = [], result, choice, usage }: QuestionOf<'sampling-result'>): Candidate[] {
  const plainOf = (result: FromHost<CreateMessageResult>): CreateMessageResult =>
    plain<CreateMessageResult>(result)
  return [
    ...earlier.map((answer) => ({
      model: answer.model,
      result: plainOf(answer.result),
      usage: answer.usage,
    })),
    { model: choice.model, result: plainOf(result), usage },
  ]
}

/** The index of the answer that the server got, of a closed question. */
function chosenIn({ answer }: Row): number | undefined {
  return answer !== undefined && 'chosen' in answer.value ? answer.value.chosen : undefined
}

/** All answers side by side. The chosen one is editable. */
function Compare({
  candidates,
  chosen,
  onChoose,
  draft,
}: {
  candidates: readonly Candidate[]
  chosen: number
  onChoose: (chosen: number) => void
  draft: JsonDraft<CreateMessageResult>
}): ReactNode {
  const t = useText()
  const name = useId()
  return (
    <fieldset className={style.around}>
      <legend>{t('sampling.compare')}</legend>
      <div className={style.sides}>
        {candidates.map((candidate, n) => {
          const title = (
            <label className={style.option}>
              <input type="radio" name={name} checked={n === chosen} onChange={() => onChoose(n)} />
              <span>
                {t('sampling.candidate', { n: n + 1 })} · <bdi>{candidate.model}</bdi>
              </span>
            </label>
          )
          return (
            <Answer
              // biome-ignore lint/suspicious/noArrayIndexKey: answers have no other identity
              key={n}
              title={title}
              label={t('sampling.candidate', { n: n + 1 })}
              candidate={candidate}
              draft={n === chosen ? draft : undefined}
            />
          )
        })}
      </div>
    </fieldset>
  )
}

/** One answer; editable if it has a draft. */
function Answer({
  title,
  label,
  candidate: { result: original, usage },
  draft,
  children,
}: {
  title: ReactNode
  label: string
  candidate: Candidate
  draft: JsonDraft<CreateMessageResult> | undefined
  children?: ReactNode
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [isJson, setJson] = useState(draft !== undefined && draft.value === undefined)
  const result = draft?.value
  return (
    <Side
      title={title}
      note={draft !== undefined && <DraftActions draft={draft} isJson={isJson} onJson={setJson} />}
    >
      {draft === undefined ? (
        <Blocks content={original.content} label={label} />
      ) : isJson || result === undefined ? (
        <JsonEditor label={t('sampling.editAnswer')} draft={draft} />
      ) : (
        <EditedContent<SamplingContent>
          content={result.content}
          before={original.content}
          label={label}
          onChange={(content) => draft.setValue({ ...result, content })}
        />
      )}
      <dl className={style.terms}>
        <Term name={t('sampling.model')}>
          <SafeText text={untrusted(original.model)} maxCharacters={120} inline />
        </Term>
        {original.stopReason !== undefined && (
          <Term name={t('sampling.stopReason')}>
            <SafeText text={untrusted(original.stopReason)} maxCharacters={120} inline />
          </Term>
        )}
        <Term name={t('sampling.tokens')}>
          {usage === undefined ? (
            <Tokens content={original.content} />
          ) : (
            t('sampling.used', { input: number(usage.inputTokens), output: number(usage.outputTokens) })
          )}
        </Term>
      </dl>
      {children}
    </Side>
  )
}
