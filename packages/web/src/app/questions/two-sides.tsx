import { unseenIn } from '@jackfield/host/browser'
import { type ReactNode, useId } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Blocks, isTextBlock } from '../text/blocks.tsx'
import { SafeTextBox } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, uiStyle } from '../ui/ui.tsx'
import type { JsonDraft } from './json-draft.tsx'
import style from './questions.module.css'

/** Longer texts are edited as JSON. */
const maxTyped = 20_000

/** The request beside the answer, or below each other in a narrow card. `isRightFirst`: the order in that case. */
export function TwoSides({
  left,
  right,
  isRightFirst = false,
}: {
  left: ReactNode
  right: ReactNode
  isRightFirst?: boolean
}): ReactNode {
  return (
    <div className={style.around}>
      <div className={style.sides} data-right-first={isRightFirst}>
        {left}
        {right}
      </div>
    </div>
  )
}

export function Side({
  title,
  note,
  children,
}: {
  title: ReactNode
  note?: ReactNode
  children: ReactNode
}): ReactNode {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <div role="group" className={style.side} aria-labelledby={id}>
      <div className={style.sideHead}>
        <h3 id={id}>{title}</h3>
        {note}
      </div>
      {children}
    </div>
  )
}

/** A read-only text of one side. */
export function SideText({ label, children }: { label: string; children: ReactNode }): ReactNode {
  return (
    <div className={style.message}>
      <span className={style.role}>{label}</span>
      {children}
    </div>
  )
}

/** An editable text. Invisible characters are listed below it. */
export function EditedText({
  label,
  text,
  before,
  onChange,
}: {
  label: string
  text: string
  before: string | undefined
  onChange: (text: string) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  if (text.length > maxTyped)
    return (
      <SideText label={label}>
        <SafeTextBox text={untrusted(text)} label={label} />
      </SideText>
    )
  return (
    <div className={style.message}>
      <label className={style.role} htmlFor={id}>
        {label}
        {text !== before && <span className={style.changed}>{t('draft.changed')}</span>}
      </label>
      <textarea
        id={id}
        className={`${uiStyle.input} ${style.typed}`}
        rows={3}
        value={text}
        onChange={({ target }) => onChange(target.value)}
      />
      {unseenIn(text).length > 0 && (
        <SafeTextBox text={untrusted(text)} label={t('draft.exactly', { label })} />
      )}
    </div>
  )
}

/** Content blocks whose texts are editable. `before`: the original content. */
export function EditedContent<C>({
  content,
  before,
  label,
  onChange,
}: {
  content: C | readonly C[]
  before: unknown
  label: string
  onChange: (content: C | C[]) => void
}): ReactNode {
  const t = useText()
  const blocks = listOf<C>(content)
  const earlier = listOf<unknown>(before)
  return blocks.map((block, n) => {
    const original = earlier[n]
    const name = blocks.length > 1 ? t('text.part', { label, n: n + 1 }) : label
    return isTextBlock(block) ? (
      <EditedText
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
        key={n}
        label={name}
        text={block.text}
        before={isTextBlock(original) ? original.text : undefined}
        onChange={(text) => {
          const next = blocks.map((current, i) => (i === n ? { ...current, text } : current))
          onChange(Array.isArray(content) ? next : (next[0] ?? block))
        }}
      />
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: blocks of one message have no other identity
      <SideText key={n} label={name}>
        <Blocks content={block} label={name} />
      </SideText>
    )
  })
}

/** Buttons that reset a draft, and switch to JSON. */
export function DraftActions<T>({
  draft,
  isJson,
  onJson,
}: {
  draft: JsonDraft<T>
  isJson: boolean
  onJson: (isJson: boolean) => void
}): ReactNode {
  const t = useText()
  return (
    <span className={style.row}>
      {draft.isEdited && (
        <Button small look="quiet" onClick={draft.undo} data-act="undo">
          {t('act.undoEdit')}
        </Button>
      )}
      <Button
        small
        look="quiet"
        aria-pressed={isJson}
        isOff={draft.value === undefined}
        onClick={() => onJson(!isJson)}
        data-act="edit"
      >
        JSON
      </Button>
    </span>
  )
}

function listOf<T>(content: T | readonly T[]): readonly T[]
function listOf(content: unknown): readonly unknown[] {
  return Array.isArray(content) ? content : [content]
}
