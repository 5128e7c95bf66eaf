import type { HostAnswers } from '@jackfield/host/browser'
import {
  type FormField,
  type FormValues,
  finishForm,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
} from '@jackfield/host/browser'
import { type ReactNode, useMemo, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Findings } from '../text/findings.tsx'
import { isRecord } from '../text/pieces.ts'
import { ExactJson, HostText, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Note, uiStyle, Views } from '../ui/ui.tsx'
import { Address, canOpen } from './address.tsx'
import { type QuestionOf, type Row, toggleIn, useAnswer, useDraft } from './answer.ts'
import { DecisionButton } from './armed.tsx'
import { Card } from './card.tsx'
import { type FieldInput, FormFieldRow } from './form-field.tsx'
import style from './questions.module.css'

type FormParams = { message: string; requestedSchema: Parameters<typeof planForm>[0] }

/** An elicitation of a server: a form or an address to open. */
export default function ElicitationCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
}): ReactNode {
  const { params } = question
  return params.mode === 'url' ? (
    <UrlCard row={row} question={question} url={plainText(params.url)} />
  ) : (
    <FormCard row={row} question={question} params={plain<FormParams>(params)} />
  )
}

type FormDraft = Readonly<Record<string, FieldInput>>

const isFormDraft = (value: unknown): value is FormDraft =>
  isRecord(value) &&
  Object.values(value).every(
    (entry) => typeof entry === 'string' || typeof entry === 'boolean' || Array.isArray(entry),
  )

/** The value of the input of a field, or its problem. */
function typedValue(
  field: FormField,
  typed: FieldInput | undefined,
): { value: FormValues[string] | undefined } | { problem: string } {
  if (typeof typed === 'string' && field.kind !== 'choice') return readTyped(field, typed)
  const value =
    typed === undefined || typed === '' ? undefined : typeof typed === 'object' ? [...typed] : typed
  const problem = problemWithField(field, value)
  return problem === undefined ? { value } : { problem }
}

/** The initial input of a form: remembered values, else the defaults of the server. */
function initialDraft(fields: readonly FormField[], remembered: FormValues): FormDraft {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = Object.hasOwn(remembered, field.key) ? remembered[field.key] : field.default
      if (value === undefined) return []
      return [[field.key, typeof value === 'number' ? String(value) : value]]
    }),
  )
}

type FormContent = Parameters<typeof reviewForm>[1]

interface FormInput {
  readonly fields: readonly {
    readonly field: FormField
    readonly typed: FieldInput | undefined
    readonly problem: string | undefined
    readonly isAgreed: boolean
  }[]
  /** What is sent; undefined while a value is invalid, or a secret is not agreed to. */
  readonly content: FormContent | undefined
  /** The key of the first field that has to be changed before. */
  readonly firstBlocked: string | undefined
  change(field: FormField, value: FieldInput | undefined): void
  /** Records whether the user agrees to send a value that looks like a secret. */
  agree(field: FormField, isOn: boolean): void
  /** Removes the stored draft. */
  forget(): void
}

/** The input of a form, read and validated. */
function useFormInput(
  id: string,
  schema: FormParams['requestedSchema'],
  fields: readonly FormField[],
  remembered: FormValues,
): FormInput {
  const storedFields = fields.filter(({ secret }) => secret === undefined)
  const [draft, keepDraft, forget] = useDraft(
    `${id}.form`,
    initialDraft(storedFields, remembered),
    isFormDraft,
  )
  // Values that look like secrets are in this state only, not in the stored draft.
  const [secrets, setSecrets] = useState(() =>
    initialDraft(
      fields.filter(({ secret }) => secret !== undefined),
      remembered,
    ),
  )
  const [agreedFields, setAgreedFields] = useState<ReadonlySet<string>>(new Set())
  const typed: FormDraft = { ...draft, ...secrets }
  const read = fields.map((field) => ({ field, outcome: typedValue(field, typed[field.key]) }))
  const values: FormValues = Object.fromEntries(
    read.flatMap(({ field, outcome }) =>
      'value' in outcome && outcome.value !== undefined ? [[field.key, outcome.value]] : [],
    ),
  )
  const invalid = read.find(({ outcome }) => 'problem' in outcome)?.field
  const finished = finishForm(schema, values)
  // The default of a field that was cleared is sent, too.
  const sent: FormValues = 'content' in finished ? finished.content : values
  const unagreed = fields.find(
    ({ key, secret }) => secret !== undefined && sent[key] !== undefined && !agreedFields.has(key),
  )
  return {
    fields: read.map(({ field, outcome }) => ({
      field,
      typed: typed[field.key],
      problem: 'problem' in outcome ? outcome.problem : undefined,
      isAgreed: agreedFields.has(field.key),
    })),
    content:
      invalid === undefined && unagreed === undefined && 'content' in finished ? finished.content : undefined,
    firstBlocked: (invalid ?? unagreed)?.key,
    change(field, value) {
      const { [field.key]: _, ...remaining } = field.secret === undefined ? draft : secrets
      const next = value === undefined ? remaining : { ...remaining, [field.key]: value }
      if (field.secret === undefined) keepDraft(next)
      else setSecrets(next)
    },
    agree: (field, isOn) => setAgreedFields(toggleIn(agreedFields, field.key, isOn)),
    forget,
  }
}

function FormCard({
  row,
  question,
  params,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
  params: FormParams
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'elicitation'>(row)
  const plan = useMemo(() => planForm(params.requestedSchema, params.message), [params])
  const fields = 'fields' in plan ? plan.fields : []
  const remembered = plain<FormValues | undefined>(question.remembered) ?? {}
  const input = useFormInput(row.id, params.requestedSchema, fields, remembered)
  const { content } = input
  const [leftFields, setLeftFields] = useState<ReadonlySet<string>>(new Set())
  const [isReview, setReview] = useState(false)
  const [rememberedFields, setRememberedFields] = useState<ReadonlySet<string>>(
    new Set(Object.keys(remembered)),
  )
  const idOf = (key: string | undefined): string => `field-${row.id}-${key}`
  const send = (answer: HostAnswers['elicitation']): void => {
    input.forget()
    answering.send(answer)
  }
  const review = (): void => {
    setLeftFields(new Set(fields.map(({ key }) => key)))
    if (content !== undefined) setReview(true)
    else document.getElementById(idOf(input.firstBlocked))?.focus()
  }
  const accept = (): void => {
    if (content === undefined) return
    const remember = [...rememberedFields].filter((key) =>
      fields.some((field) => field.key === key && field.secret === undefined),
    )
    send({ action: 'accept', content, ...(remember.length > 0 && { remember }) })
  }
  return (
    <Card
      row={row}
      title="form.title"
      origin={question.origin !== undefined && <SafeText text={question.origin} maxCharacters={200} inline />}
      answering={answering}
      version={`${isReview} ${JSON.stringify(content ?? null)}`}
      deny={<DeclineButtons id={row.id} onDecide={(action) => send({ action })} />}
      allow={
        isReview ? (
          <>
            <Button onClick={() => setReview(false)} data-act="back">
              {t('form.back')}
            </Button>
            <DecisionButton look="primary" isOff={content === undefined} onDecide={accept} data-act="accept">
              {t('form.accept')}
            </DecisionButton>
          </>
        ) : (
          <Button look="primary" isOff={'fault' in plan} onClick={review} data-act="review">
            {t('form.review')}
          </Button>
        )
      }
    >
      <SafeTextBox text={untrusted(params.message)} label={t('form.message')} />
      <Findings findings={question.findings} />
      {'fault' in plan && (
        <Note tone="danger">
          {t('form.fault')} <SafeText text={untrusted(plan.fault)} />
        </Note>
      )}
      {row.state === 'open' && !isReview && (
        <div className={style.form}>
          {input.fields.map(({ field, typed, problem, isAgreed }) => (
            <FormFieldRow
              key={field.key}
              id={idOf(field.key)}
              field={field}
              typed={typed}
              isRemembered={Object.hasOwn(remembered, field.key)}
              problem={leftFields.has(field.key) ? problem : undefined}
              isAgreed={isAgreed}
              onAgree={(isOn) => input.agree(field, isOn)}
              onChange={(value) => input.change(field, value)}
              onLeave={() => afterPress(() => setLeftFields((before) => toggleIn(before, field.key, true)))}
            />
          ))}
        </div>
      )}
      {row.state === 'open' && isReview && content !== undefined && (
        <FormReview
          fields={fields}
          content={content}
          rememberedFields={rememberedFields}
          onRemember={(key, isOn) => setRememberedFields(toggleIn(rememberedFields, key, isOn))}
        />
      )}
    </Card>
  )
}

/** Declines the request, or cancels it without a decision. */
function DeclineButtons({
  id,
  onDecide,
}: {
  id: string
  onDecide: (action: 'decline' | 'cancel') => void
}): ReactNode {
  const t = useText()
  return (
    <>
      <DecisionButton
        onDecide={() => onDecide('decline')}
        data-act="decline"
        aria-describedby={`decline-${id}`}
      >
        {t('form.decline')}
      </DecisionButton>
      <DecisionButton
        look="quiet"
        onDecide={() => onDecide('cancel')}
        data-act="cancel"
        aria-describedby={`cancel-${id}`}
      >
        {t('form.cancel')}
      </DecisionButton>
      <span className="hidden-text" id={`decline-${id}`}>
        {t('form.declineMeans')}
      </span>
      <span className="hidden-text" id={`cancel-${id}`}>
        {t('form.cancelMeans')}
      </span>
    </>
  )
}

/** The values as they are sent, each with the choice to remember it. */
function FormReview({
  fields,
  content,
  rememberedFields,
  onRemember,
}: {
  fields: readonly FormField[]
  content: FormContent
  rememberedFields: ReadonlySet<string>
  onRemember: (key: string, isOn: boolean) => void
}): ReactNode {
  const t = useText()
  const [view, setView] = useState<'list' | 'json'>('list')
  return (
    <>
      <p>{t('form.reviewIntro')}</p>
      <Views
        label={t('form.review')}
        views={[
          ['list', t('form.reviewList')],
          ['json', 'JSON'],
        ]}
        value={view}
        onChange={setView}
      />
      {view === 'json' ? (
        <ExactJson value={content} label={t('form.reviewIntro')} />
      ) : (
        <div className={style.untrusted}>
          <table className={style.table}>
            <tbody>
              {reviewForm(fields, content).map(({ key, label, value }) => (
                <tr key={key}>
                  <th scope="row">
                    <SafeText text={untrusted(label)} inline />
                  </th>
                  <td>
                    <SafeText text={untrusted(value)} />
                  </td>
                  <td>
                    {fields.find((field) => field.key === key)?.secret === undefined && (
                      <label className={style.row}>
                        <input
                          type="checkbox"
                          checked={rememberedFields.has(key)}
                          onChange={({ target }) => onRemember(key, target.checked)}
                        />{' '}
                        {t('form.remember')}
                      </label>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

/** Calls a function once no pointer button is pressed, since its effect would move the target of the press. */
function afterPress(show: () => void): void {
  if (document.querySelector(':active') === null) {
    show()
    return
  }
  const ended = new AbortController()
  const onEnd = (): void => {
    ended.abort()
    setTimeout(show)
  }
  for (const end of ['pointerup', 'pointercancel']) addEventListener(end, onEnd, { signal: ended.signal })
}

/** Asks the user to open an address, and then whether that is done. */
function UrlCard({
  row,
  question,
  url,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
  url: string
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'elicitation'>(row)
  const { visit, params } = question
  const isDangerous = question.findings?.some(({ severity }) => severity === 'danger') === true
  return (
    <Card
      row={row}
      title={visit === undefined ? 'page.title' : 'page.visitTitle'}
      origin={question.origin !== undefined && <SafeText text={question.origin} maxCharacters={200} inline />}
      answering={answering}
      deny={
        visit === undefined ? (
          <DeclineButtons id={row.id} onDecide={(action) => answering.send({ action })} />
        ) : (
          <DecisionButton onDecide={() => answering.send({ action: 'cancel' })} data-act="give-up">
            {t('page.giveUp')}
          </DecisionButton>
        )
      }
      allow={
        visit === undefined ? (
          <DecisionButton
            look={isDangerous ? undefined : 'primary'}
            isOff={!canOpen(url)}
            onDecide={() => answering.send({ action: 'accept', visit: 'self' })}
            data-act="accept"
          >
            {t('page.agree')}
          </DecisionButton>
        ) : (
          <>
            <a
              className={uiStyle.button}
              href={canOpen(url) ? url : undefined}
              target="_blank"
              rel="noopener noreferrer"
            >
              {t('page.open')}
            </a>
            <DecisionButton
              look="primary"
              onDecide={() => answering.send({ action: 'accept' })}
              data-act="done"
            >
              {t('page.done')}
            </DecisionButton>
          </>
        )
      }
    >
      <SafeTextBox text={params.message} label={t('form.message')} />
      <Address url={url} />
      <Findings findings={question.findings} />
      {visit?.problem !== undefined && (
        <Note tone="warn">
          <HostText text={visit.problem} />
        </Note>
      )}
      <p className={style.settled}>{t(visit === undefined ? 'page.nothingFetched' : 'page.waits')}</p>
    </Card>
  )
}
