import { wordDiff } from '@jackfield/host/browser'
import { type ReactNode, useMemo, useState } from 'react'
import { useFormat, useHostSentence, useText } from '../i18n/i18n.ts'
import { ScrollBox } from '../ui/ui.tsx'
import { headOf, membersOf, piecesOf } from './pieces.ts'
import style from './text.module.css'
import { plainText, type UntrustedText, untrusted } from './untrusted-text.ts'

const defaultMaxCharacters = 20_000

function Pieces({ text }: { text: string }): ReactNode {
  const pieces = useMemo(() => piecesOf(text), [text])
  return pieces.map((piece, n) =>
    'text' in piece ? (
      piece.text
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
      <span className={style.code} key={n}>
        {piece.code}
      </span>
    ),
  )
}

/**
 * A text of a server, a model or a file. `maxCharacters`: characters shown until the user expands it; `inline`: within a line or a
 * link, where the rest is only counted.
 */
export function SafeText({
  text,
  maxCharacters = defaultMaxCharacters,
  inline = false,
}: {
  text: UntrustedText
  maxCharacters?: number
  inline?: boolean
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [all, setAll] = useState(false)
  const { head, rest } = headOf(plainText(text), all ? Number.POSITIVE_INFINITY : maxCharacters)
  return (
    <bdi className={inline ? `${style.untrusted} ${style.inline}` : style.untrusted}>
      <Pieces text={head} />
      {rest > 0 && inline && `… +${number(rest)}`}
      {rest > 0 && !inline && (
        <>
          …{' '}
          <button type="button" className={style.more} onClick={() => setAll(true)}>
            {t('text.more', { count: number(rest) })}
          </button>
        </>
      )}
    </bdi>
  )
}

/**
 * A sentence of the host, whose values a server may have written. It is shown in the language of the page where there is a
 * translation, and marked as English elsewhere.
 */
export function HostText({
  text,
  ...rest
}: {
  text: UntrustedText
  maxCharacters?: number
  inline?: boolean
}): ReactNode {
  const { sentence, isEnglish } = useHostSentence(plainText(text))
  const shown = <SafeText text={untrusted(sentence)} {...rest} />
  return isEnglish ? <span lang="en">{shown}</span> : shown
}

/** The name of a browser or terminal, such as `Firefox on lapis`. */
export function ClientName({ name }: { name: string }): ReactNode {
  return <SafeText text={untrusted(useHostSentence(name).sentence)} inline />
}

/** An untrusted text in the box that marks it as such. */
export function SafeTextBox({ text, label }: { text: UntrustedText; label?: string }): ReactNode {
  return (
    <ScrollBox className={style.box} label={label}>
      <SafeText text={text} />
    </ScrollBox>
  )
}

/** A value as the JSON that is sent. */
export function ExactJson({ value, label }: { value: unknown; label: string }): ReactNode {
  const json = useMemo(() => untrusted(JSON.stringify(value, null, 2) ?? 'null'), [value])
  return (
    <ScrollBox className={style.box} label={label}>
      <pre>
        <SafeText text={json} />
      </pre>
    </ScrollBox>
  )
}

/** One value in a line or a box: a text as it is, anything else as JSON. */
export function Value({ value }: { value: unknown }): ReactNode {
  if (typeof value === 'string') return <SafeText text={untrusted(value)} maxCharacters={2_000} />
  return <SafeText text={untrusted(JSON.stringify(value) ?? '')} maxCharacters={2_000} />
}

const maxMembers = 100

/** A JSON value as a tree that opens by one level at a time. */
export function JsonTree({ value, label }: { value: unknown; label: string }): ReactNode {
  return (
    <ScrollBox className={`${style.box} ${style.tree}`} label={label}>
      <Branch value={value} open={2} />
    </ScrollBox>
  )
}

function Branch({ name, value, open }: { name?: string; value: unknown; open: number }): ReactNode {
  const t = useText()
  const [shown, setShown] = useState(maxMembers)
  const [isOpen, setOpen] = useState(open > 0)
  const members = membersOf(value)
  const key =
    name === undefined ? null : (
      <span className={style.key}>
        <SafeText text={untrusted(name)} maxCharacters={200} inline />
        {': '}
      </span>
    )
  if (members === undefined || members.length === 0)
    return (
      <div className={style.leaf}>
        {key}
        <span className={kindClass(value)}>
          <SafeText text={untrusted(JSON.stringify(value) ?? 'null')} maxCharacters={2_000} />
        </span>
      </div>
    )
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {key}
        <span className={style.key}>
          {Array.isArray(value)
            ? t('json.items', { count: members.length })
            : t('json.members', { count: members.length })}
        </span>
      </summary>
      {isOpen && (
        <div>
          {members.slice(0, shown).map(([member, memberValue]) => (
            <Branch key={member} name={member} value={memberValue} open={open - 1} />
          ))}
          {members.length > shown && (
            <button type="button" className={style.more} onClick={() => setShown(shown + 1_000)}>
              {t('json.more', { count: members.length - shown })}
            </button>
          )}
        </div>
      )}
    </details>
  )
}

function kindClass(value: unknown): string | undefined {
  if (typeof value === 'string') return style.string
  return typeof value === 'number' ? style.number : style.word
}

/** The differences of two texts, word by word. */
export function Diff({ before, after }: { before: string; after: string }): ReactNode {
  const t = useText()
  const pieces = useMemo(() => wordDiff(before, after), [before, after])
  return (
    <bdi className={style.untrusted}>
      {pieces.map(({ kind, text }, n) => {
        if (kind === 'same')
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
          return <Pieces key={n} text={text} />
        const Tag = kind === 'removed' ? 'del' : 'ins'
        return (
          <Tag
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text have no other identity
            key={n}
            className={kind === 'removed' ? style.removed : style.added}
            aria-label={t(`diff.${kind}`)}
          >
            <Pieces text={text} />
          </Tag>
        )
      })}
    </bdi>
  )
}
