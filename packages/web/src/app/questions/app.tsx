import type { AppFile, AppVersion, AppWish } from '@jackfield/host/browser'
import type { AppPermission } from '@jackfield/sdk/extensions/ui'
import { type ReactNode, useState } from 'react'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Findings } from '../text/findings.tsx'
import { Diff, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Note } from '../ui/ui.tsx'
import { Address } from './address.tsx'
import { type QuestionOf, type Row, toggleIn, useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'
import style from './questions.module.css'

type PageRequest = Extract<AppWish, { kind: 'page' }>
type Lists = 'connectDomains' | 'resourceDomains' | 'frameDomains' | 'baseUriDomains'
const lists: readonly Lists[] = ['connectDomains', 'resourceDomains', 'frameDomains', 'baseUriDomains']

/** Asks about an app: whether to show its page, or to allow an action outside its frame. */
export function AppCard({ row, question }: { row: Row; question: QuestionOf<'app'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'app'>(row)
  const [granted, setGranted] = useState<ReadonlySet<AppPermission>>(new Set())
  const [isLasting, setLasting] = useState(false)
  const wants = plain<AppWish>(question.wants)
  const { kind } = wants
  const allow = (): void => {
    if (kind === 'page')
      answering.send({ verdict: 'allow', permissions: [...granted], ...(isLasting && { anyContents: true }) })
    else answering.send({ verdict: 'allow', ...(kind === 'context' && isLasting && { always: true }) })
    if (kind === 'link') window.open(wants.url, '_blank', 'noopener,noreferrer')
    if (kind === 'download') for (const file of wants.files) save(file)
  }
  return (
    <Card
      row={row}
      title={`app.${kind}.title`}
      answering={answering}
      version={`${[...granted].join(' ')} ${isLasting}`}
      facts={
        <>
          {question.app.title !== undefined && (
            <SafeText text={question.app.title} maxCharacters={80} inline />
          )}
          <SafeText text={question.app.uri} maxCharacters={200} inline />
        </>
      }
      deny={
        <DenyButton onDeny={() => answering.send({ verdict: 'deny' })}>
          {kind === 'page' ? t('app.page.block') : undefined}
        </DenyButton>
      }
      allow={
        <DecisionButton look="primary" onDecide={allow} data-act="allow">
          {t(`app.${kind}.allow`)}
        </DecisionButton>
      }
    >
      {wants.kind === 'page' && <PageFacts wants={wants} />}
      {wants.kind === 'page' &&
        wants.version.permissions.map((name) => (
          <label key={name} className={style.agree}>
            <input
              type="checkbox"
              checked={granted.has(name)}
              disabled={row.state !== 'open'}
              onChange={({ target }) => setGranted(toggleIn(granted, name, target.checked))}
            />{' '}
            {t(`app.permission.${name}`)}
          </label>
        ))}
      {wants.kind === 'link' && <Address url={wants.url} />}
      {(wants.kind === 'message' || wants.kind === 'context') && (
        <SafeTextBox text={untrusted(wants.text)} label={t(`app.${wants.kind}.text`)} />
      )}
      {wants.kind === 'download' && <Files files={wants.files} />}
      <Findings findings={question.findings} />
      {(kind === 'page' || kind === 'context') && (
        <label className={style.agree}>
          <input
            type="checkbox"
            checked={isLasting}
            disabled={row.state !== 'open'}
            onChange={({ target }) => setLasting(target.checked)}
          />{' '}
          {t(kind === 'page' ? 'app.page.anyContents' : 'app.context.always')}
        </label>
      )}
    </Card>
  )
}

/** The facts of a page: the origins it may use, its permissions, and its changes since the last consent. */
function PageFacts({ wants: { version, before, ignored } }: { wants: PageRequest }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const reached = lists.filter((name) => (version.csp[name] ?? []).length > 0)
  return (
    <>
      <p>{t(before === undefined ? 'app.page.intro' : 'app.page.changed')}</p>
      <div className={style.untrusted}>
        <table className={style.table}>
          <tbody>
            {reached.map((name) => (
              <tr key={name}>
                <th scope="row">{t(`app.origins.${name}`)}</th>
                <td>
                  {before === undefined ? (
                    <SafeText text={untrusted((version.csp[name] ?? []).join('\n'))} />
                  ) : (
                    <Diff before={listOf(before, name)} after={listOf(version, name)} />
                  )}
                </td>
              </tr>
            ))}
            <tr>
              <th scope="row">{t('app.page.size')}</th>
              <td>
                {t('app.page.bytes', { bytes: number(version.bytes) })}
                {before !== undefined && ` · ${t('app.page.before', { bytes: number(before.bytes) })}`}
              </td>
            </tr>
            <tr>
              <th scope="row">SHA-256</th>
              <td className={style.address}>
                {before === undefined || before.digest === version.digest ? (
                  <SafeText text={untrusted(version.digest)} />
                ) : (
                  <Diff before={before.digest} after={version.digest} />
                )}
              </td>
            </tr>
          </tbody>
        </table>
      </div>
      {reached.length === 0 && <Note tone="ok">{t('app.page.reachesNothing')}</Note>}
      {ignored.length > 0 && (
        <Note tone="info">
          {t('app.page.ignored', { count: ignored.length })} <SafeText text={untrusted(ignored.join(', '))} />
        </Note>
      )}
      {version.permissions.length > 0 && <p>{t('app.page.permissions')}</p>}
    </>
  )
}

function listOf({ csp }: AppVersion, name: Lists): string {
  return (csp[name] ?? []).join('\n')
}

function Files({ files }: { files: readonly AppFile[] }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  return files.map(({ name, mimeType, bytes, text }) => (
    <div key={`${name} ${bytes}`} className={style.untrusted}>
      <div className={style.row}>
        <strong>
          <SafeText text={untrusted(name)} inline />
        </strong>
        <SafeText text={untrusted(mimeType)} inline />
        <span>{t('app.page.bytes', { bytes: number(bytes) })}</span>
      </div>
      {text !== undefined && <SafeText text={untrusted(text)} maxCharacters={2_000} />}
    </div>
  ))
}

/** Saves a file as a browser download after a click of the user. Its type is one that no browser executes. */
function save({ name, text, blob }: AppFile): void {
  const bytes = text ?? Uint8Array.from(atob(blob ?? ''), (character) => character.charCodeAt(0))
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
