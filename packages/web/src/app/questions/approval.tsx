import type { Activity, ArgumentTest, CatalogTool, Remember } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Author } from '../text/author.tsx'
import { Findings } from '../text/findings.tsx'
import { changedValues, leavesOf } from '../text/pieces.ts'
import { ExactJson, HostText, SafeText } from '../text/safe-text.tsx'
import { plain, plainText } from '../text/untrusted-text.ts'
import { Button, Field, Key, Note, uiStyle, Views } from '../ui/ui.tsx'
import { type Answering, isText, type QuestionOf, type Row, useAnswer, useDraft } from './answer.ts'
import { ArgumentEditor, ArgumentTable, ChangeTable, readArguments, Unreadable } from './arguments.tsx'
import { DecisionButton } from './armed.tsx'
import { Card } from './card.tsx'
import { type ReportUnreadable, useUnreadable } from './json-text.ts'
import { lastCallOf } from './last-call.ts'
import style from './questions.module.css'
import { ruleKind } from './rule-kind.ts'

type View = 'whole' | 'changed' | 'exact'
type Panel = 'edit' | 'deny' | 'respond' | 'remember'
const longText = 65_536

/** Asks whether to allow a call; its arguments can be edited. */
export function ApprovalCard({ row, question }: { row: Row; question: QuestionOf<'approval'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'approval'>(row)
  const [panel, setPanel] = useState<Panel>()
  const original = JSON.stringify(question.arguments, null, 2)
  const [edited, setEdited, forgetEdited] = useDraft(`${row.id}.arguments`, original, isText)
  const [reason, setReason] = useState('')
  const [response, setResponse] = useState('')
  const { tool } = plain<CatalogTool>(question.tool)
  const { decision, findings, labels, origin, problem, remember } = question
  const read = readArguments(edited)
  const [unreadable, report] = useUnreadable()
  const isEdited = edited !== original
  const args = 'value' in read ? read.value : question.arguments
  const log = useRead('activity.list', { server: question.cause.server, kind: 'call', limit: 200 })
  const last = log.data === undefined ? undefined : lastCallOf(plain<Activity[]>(log.data), tool.name, row.at)
  const changes = isEdited
    ? changedValues(question.arguments, args)
    : last && changedValues(last.arguments, args)
  const unread = leavesOf(args).leaves.some(
    ({ value }) => typeof value === 'string' && value.length > longText,
  )
  const allow = (extra: { remember?: Remember } = {}): void => {
    forgetEdited()
    answering.send({ verdict: 'allow', ...(isEdited && { arguments: args }), ...extra })
  }
  const hints = hintsOf(tool.annotations)
  const panels = { panel, onPanel: setPanel }
  return (
    <Card
      row={row}
      title="approval.title"
      origin={origin !== undefined && <SafeText text={origin} maxCharacters={200} inline />}
      facts={<RuleFact decision={decision} />}
      answering={answering}
      version={edited}
      deny={
        <PanelButton name="deny" {...panels}>
          {t('act.deny')}
        </PanelButton>
      }
      more={
        <>
          <PanelButton name="respond" look="quiet" {...panels}>
            {t('act.respond')}
          </PanelButton>
          <PanelButton name="edit" look="quiet" {...panels}>
            {t('act.edit')}
          </PanelButton>
        </>
      }
      allow={
        <>
          {remember.length > 0 && (
            <PanelButton name="remember" {...panels}>
              {t('act.allowFor')}
            </PanelButton>
          )}
          <DecisionButton
            look="primary"
            isOff={'problem' in read || unreadable.length > 0}
            onDecide={() => allow()}
            data-act="allow"
          >
            {t(unread ? 'act.allowUnread' : isEdited ? 'act.allowEdited' : 'act.allowOnce')} <Key>Ctrl ⏎</Key>
          </DecisionButton>
        </>
      }
      panel={
        panel !== undefined && (
          <div className={style.panel}>
            {panel === 'edit' && (
              <EditPanel
                schema={tool.inputSchema}
                text={edited}
                unreadable={unreadable}
                report={report}
                onChange={setEdited}
                onUndo={
                  isEdited
                    ? () => {
                        setEdited(original)
                        forgetEdited()
                      }
                    : undefined
                }
              />
            )}
            {panel === 'deny' && (
              <DenyPanel answering={answering} scopes={remember} reason={reason} onReason={setReason} />
            )}
            {panel === 'respond' && (
              <RespondPanel answering={answering} text={response} onText={setResponse} />
            )}
            {panel === 'remember' && (
              <GrantPatterns
                question={question}
                isEdited={isEdited}
                onAllow={(remember) => allow({ remember })}
              />
            )}
          </div>
        )
      }
    >
      {problem !== undefined && (
        <Note tone="danger" live>
          <HostText text={problem} />
        </Note>
      )}
      <CallViews args={args} changes={changes} isEdited={isEdited} since={last?.at} />
      {labels.length > 0 && (
        <Note tone="warn">
          {t('approval.labels')}{' '}
          {labels.map((label) => (
            <SafeText key={plainText(label)} text={label} inline />
          ))}
        </Note>
      )}
      <Findings findings={findings} />
      {hints.length > 0 && (
        <p className={style.settled}>
          {t('approval.hints', { hints: hints.map((hint) => t(`hint.${hint}`)).join(t('list.separator')) })}
        </p>
      )}
    </Card>
  )
}

/** A button that opens a panel of the card, or closes it. */
function PanelButton({
  name,
  panel,
  onPanel,
  look,
  children,
}: {
  name: Panel
  panel: Panel | undefined
  onPanel: (panel: Panel | undefined) => void
  look?: 'quiet'
  children: ReactNode
}): ReactNode {
  const isOpen = panel === name
  return (
    <Button
      look={look}
      onClick={() => onPanel(isOpen ? undefined : name)}
      data-act={name}
      aria-expanded={isOpen}
    >
      {children}
    </Button>
  )
}

/** Edits the arguments that are sent. `onUndo`: restores the original ones; undefined while they are unchanged. */
function EditPanel({
  schema,
  text,
  unreadable,
  report,
  onChange,
  onUndo,
}: {
  schema: unknown
  text: string
  unreadable: readonly string[]
  report: ReportUnreadable
  onChange: (text: string) => void
  onUndo: (() => void) | undefined
}): ReactNode {
  const t = useText()
  return (
    <>
      <ArgumentEditor schema={schema} text={text} onChange={onChange} report={report} />
      <Unreadable fields={unreadable} />
      {onUndo !== undefined && (
        <div className={style.row}>
          <Button small onClick={onUndo}>
            {t('act.undoEdit')}
          </Button>
        </div>
      )}
    </>
  )
}

/** The rule that asks, and its author. */
function RuleFact({ decision }: { decision: QuestionOf<'approval'>['decision'] }): ReactNode {
  const t = useText()
  return (
    <span>
      {t('approval.rule', { kind: ruleKind(decision.rule), rule: decision.rule })}
      {ruleKind(decision.rule) === 'rule' && decision.author !== undefined && (
        <>
          {' · '}
          <Author text={decision.author} />
        </>
      )}
    </span>
  )
}

/** The arguments of the call: all of them, the changes, or the JSON that is sent. `since`: when the call compared with was made. */
function CallViews({
  args,
  changes,
  isEdited,
  since,
}: {
  args: unknown
  changes: ReturnType<typeof changedValues> | undefined
  isEdited: boolean
  since: string | undefined
}): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const [view, setView] = useState<View>('whole')
  const changed = t(isEdited ? 'approval.edited' : 'approval.changed', { count: changes?.length ?? 0 })
  return (
    <>
      <Views
        label={t('approval.views')}
        views={[
          ['whole', t('approval.whole')],
          ...(changes === undefined ? [] : [['changed', changed] as const]),
          ['exact', t('approval.exact')],
        ]}
        value={view}
        onChange={setView}
      />
      {view === 'whole' && <ArgumentTable value={args} />}
      {view === 'changed' && changes !== undefined && (
        <>
          {!isEdited && since !== undefined && (
            <p className={style.settled}>{t('approval.since', { time: dateTime(since) })}</p>
          )}
          <ChangeTable changes={changes} />
        </>
      )}
      {view === 'exact' && <ExactJson value={args} label={t('approval.exact')} />}
    </>
  )
}

/** Denies the call once or for a scope, with a reason for the caller. */
function DenyPanel({
  answering,
  scopes,
  reason,
  onReason,
}: {
  answering: Answering<'approval'>
  scopes: QuestionOf<'approval'>['remember']
  reason: string
  onReason: (reason: string) => void
}): ReactNode {
  const t = useText()
  const deny = (remember: { remember?: Remember } = {}): void =>
    answering.send({ verdict: 'deny', ...(reason !== '' && { reason }), ...remember })
  return (
    <>
      <Field label={t('deny.reason')} hint={t('deny.reasonHint')}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            value={reason}
            onChange={({ target }) => onReason(target.value)}
          />
        )}
      </Field>
      <div className={style.row}>
        <DecisionButton onDecide={() => deny()} data-act="deny-once">
          {t('act.denyOnce')}
        </DecisionButton>
        {scopes.map((scope) => (
          <DecisionButton
            key={scope}
            onDecide={() => deny({ remember: { scope } })}
            data-act={`deny-${scope}`}
          >
            {t(`deny.always.${scope}`)}
          </DecisionButton>
        ))}
      </div>
    </>
  )
}

/** Gives the caller a text as the result, without calling the tool. */
function RespondPanel({
  answering,
  text,
  onText,
}: {
  answering: Answering<'approval'>
  text: string
  onText: (text: string) => void
}): ReactNode {
  const t = useText()
  return (
    <>
      <Field label={t('respond.label')} hint={t('respond.hint')}>
        {(ids) => (
          <textarea
            {...ids}
            className={uiStyle.input}
            rows={4}
            value={text}
            onChange={({ target }) => onText(target.value)}
          />
        )}
      </Field>
      <div className={style.row}>
        <DecisionButton
          isOff={text === ''}
          onDecide={() =>
            answering.send({ verdict: 'respond', result: { content: [{ type: 'text', text }] } })
          }
          data-act="respond-send"
        >
          {t('respond.send')}
        </DecisionButton>
      </div>
    </>
  )
}

/** The grants that can be remembered, narrowest first, each with the number of recent calls that it would have matched. */
function GrantPatterns({
  question,
  isEdited,
  onAllow,
}: {
  question: QuestionOf<'approval'>
  isEdited: boolean
  onAllow: (remember: Remember) => void
}): ReactNode {
  const t = useText()
  const { likeness, remember, readOnlyTools } = question
  return (
    <table className={style.table}>
      <tbody>
        {likeness
          .filter((pattern) => !isEdited || pattern.arguments === undefined)
          .map((pattern) => {
            const tests = pattern.arguments && plain<ArgumentTest[]>(pattern.arguments)
            return (
              <tr key={plainText(pattern.label)}>
                <td>
                  <HostText text={pattern.label} maxCharacters={300} inline />
                  <MatchedCalls question={question} tests={tests} />
                </td>
                <td>
                  <div className={style.row}>
                    {remember.map((scope) => (
                      <DecisionButton
                        key={scope}
                        onDecide={() => onAllow({ scope, ...(tests !== undefined && { arguments: tests }) })}
                        data-act={`remember-${scope}`}
                      >
                        {t(`remember.${scope}`)}
                      </DecisionButton>
                    ))}
                  </div>
                </td>
              </tr>
            )
          })}
        {readOnlyTools !== undefined && (
          <tr>
            <td>{t('remember.readOnly', { count: readOnlyTools.length })}</td>
            <td>
              <DecisionButton onDecide={() => onAllow({ scope: 'conversation', readOnlyTools: true })}>
                {t('remember.conversation')}
              </DecisionButton>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  )
}

const previewDays = 30

/** How many of the last calls a remembered answer would have decided. */
function MatchedCalls({
  question,
  tests,
}: {
  question: QuestionOf<'approval'>
  tests: ArgumentTest[] | undefined
}): ReactNode {
  const t = useText()
  const { server, tool } = plain<CatalogTool>(question.tool)
  const rule = {
    id: 'preview',
    verdict: 'allow' as const,
    server,
    tool: tool.name,
    ...(tests !== undefined && { arguments: tests }),
  }
  const { data } = useRead('policy.preview', { rule, days: previewDays })
  if (data === undefined) return null
  return (
    <div className={style.was}>
      {t('remember.matched', { count: data.matched.length, all: data.considered, days: previewDays })}
    </div>
  )
}

/** What a tool says about itself; none of it is verified. */
function hintsOf(annotations: CatalogTool['tool']['annotations']): string[] {
  if (annotations === undefined) return []
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations
  return [
    readOnlyHint === true ? 'readOnly' : undefined,
    readOnlyHint === false ? 'writes' : undefined,
    destructiveHint === true ? 'destructive' : undefined,
    idempotentHint === true ? 'idempotent' : undefined,
    openWorldHint === true ? 'openWorld' : undefined,
  ].filter((hint) => hint !== undefined)
}
