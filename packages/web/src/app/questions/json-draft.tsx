import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Field, uiStyle } from '../ui/ui.tsx'
import { isText, useDraft } from './answer.ts'
import { readArguments } from './arguments.tsx'

export interface JsonDraft<T> {
  readonly text: string
  /** Undefined while the text is not such a value. */
  readonly value: T | undefined
  readonly isEdited: boolean
  readonly problem: string | undefined
  setText(text: string): void
  setValue(value: T): void
  undo(): void
  forget(): void
}

/** A JSON value that is edited as text or by its parts; the draft survives a reload. `hasShape`: whether a value can be edited by parts. */
export function useJsonDraft<T extends object>(
  key: string,
  first: T,
  hasShape: (value: Readonly<Record<string, unknown>>) => boolean,
): JsonDraft<T> {
  const original = JSON.stringify(first, null, 2)
  const [text, setText, forget] = useDraft(key, original, isText)
  const read = readArguments(text)
  const problem = 'problem' in read ? read.problem : hasShape(read.value) ? undefined : 'wrong-shape'
  return {
    text,
    setText,
    value: problem === undefined ? plain<T>(JSON.parse(text)) : undefined,
    isEdited: text !== original,
    problem,
    setValue: (value) => setText(JSON.stringify(value, null, 2)),
    undo() {
      setText(original)
      forget()
    },
    forget,
  }
}

export function JsonEditor<T>({ label, draft }: { label: string; draft: JsonDraft<T> }): ReactNode {
  const t = useText()
  const { problem } = draft
  return (
    <Field
      label={label}
      problem={
        problem === undefined ? undefined : problem === 'wrong-shape' || problem === 'not-object' ? (
          t('draft.wrongShape')
        ) : (
          <SafeText text={untrusted(problem)} />
        )
      }
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
