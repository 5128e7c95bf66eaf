import { defaultResultCharacters, fitResult, forModel } from '@jackfield/host/browser'
import type { CallToolResult } from '@jackfield/sdk'
import { type ReactNode, useMemo, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Blocks } from '../text/blocks.tsx'
import { ExactJson, JsonTree } from '../text/safe-text.tsx'
import { Tokens } from '../text/tokens.tsx'
import { plain } from '../text/untrusted-text.ts'
import type { QuestionOf, Row } from './answer.ts'
import { useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'
import { JsonEditor, useJsonDraft } from './json-draft.tsx'
import style from './questions.module.css'
import { DraftActions, EditedContent, Side, TwoSides } from './two-sides.tsx'

/** Asks whether the caller may get the result of a tool; it can be edited. */
export default function ResultCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'result'>
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'result'>(row)
  const original = plain<CallToolResult>(question.result)
  const draft = useJsonDraft(`${row.id}.result`, original, ({ content }) => Array.isArray(content))
  const [isJson, setJson] = useState(draft.value === undefined)
  const result = draft.value
  const isForModel = question.cause.caller === 'chat'
  return (
    <Card
      row={row}
      title="result.title"
      answering={answering}
      version={draft.text}
      facts={<span>{t('result.rule', { rule: question.decision.rule })}</span>}
      deny={
        <DenyButton onDeny={() => answering.send({ verdict: 'deny' })}>{t('result.withhold')}</DenyButton>
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
          {t(draft.isEdited ? 'result.passEdited' : 'result.pass')}
        </DecisionButton>
      }
    >
      <TwoSides
        left={
          <Side title={t('result.given')} note={<Tokens content={contentOf(original)} />}>
            <Blocks content={original.content} label={t('result.original')} />
            {original.structuredContent !== undefined && (
              <JsonTree value={original.structuredContent} label={t('result.structured')} />
            )}
          </Side>
        }
        right={
          <Side
            title={t('result.passed')}
            note={
              <>
                {result !== undefined && <Tokens content={contentOf(result)} />}
                <DraftActions draft={draft} isJson={isJson} onJson={setJson} />
              </>
            }
          >
            {isJson || result === undefined ? (
              <JsonEditor label={t('result.passed')} draft={draft} />
            ) : (
              <>
                <EditedContent
                  content={result.content}
                  before={original.content}
                  label={t('result.text')}
                  onChange={(content) =>
                    draft.setValue({ ...result, content: Array.isArray(content) ? content : [content] })
                  }
                />
                {result.structuredContent !== undefined && (
                  <JsonTree value={result.structuredContent} label={t('result.structured')} />
                )}
              </>
            )}
            {isForModel && result !== undefined && <Shortened result={result} />}
          </Side>
        }
      />
      <details>
        <summary>
          {t('result.arguments')}{' '}
          <span className={style.aside}>
            <Tokens content={question.arguments} />
          </span>
        </summary>
        <ExactJson value={question.arguments} label={t('result.arguments')} />
      </details>
    </Card>
  )
}

/** The content blocks of a result, including structured content. */
function contentOf({ content, structuredContent }: CallToolResult): unknown[] {
  return [...content, ...(structuredContent === undefined ? [] : [structuredContent])]
}

/** The part of a long result that the model of a conversation gets. */
function Shortened({ result }: { result: CallToolResult }): ReactNode {
  const t = useText()
  const shown = useMemo(() => {
    let isWhole = true
    const content = fitResult(forModel(result), defaultResultCharacters, () => {
      isWhole = false
      return '…'
    })
    return isWhole ? undefined : content
  }, [result])
  if (shown === undefined) return null
  return (
    <details>
      <summary>
        {t('result.shortened')}{' '}
        <span className={style.aside}>
          <Tokens content={shown} />
        </span>
      </summary>
      <p className={style.aside}>{t('result.shortenedMeans')}</p>
      <Blocks content={shown} label={t('result.shortened')} />
    </details>
  )
}
