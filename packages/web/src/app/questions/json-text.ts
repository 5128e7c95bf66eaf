import { useCallback, useEffect, useState } from 'react'

/** Reports whether the text of a field is invalid. Stable between renders. */
export type ReportUnreadable = (field: string, isUnreadable: boolean) => void

/** The fields of a form with invalid text, and a function to report them. Nothing may be sent while there are any. */
export function useUnreadable(): readonly [fields: readonly string[], report: ReportUnreadable] {
  const [fields, setFields] = useState<readonly string[]>([])
  const report = useCallback<ReportUnreadable>((field, isUnreadable) => {
    setFields((current) => {
      const remaining = current.filter((name) => name !== field)
      if (isUnreadable) return [...remaining, field]
      return remaining.length === current.length ? current : remaining
    })
  }, [])
  return [fields, report]
}

/** The text of a field that holds a JSON value: as it was typed, until the value is changed elsewhere. */
export function useJsonText({
  field,
  value,
  isNumber,
  onChange,
  report,
}: {
  /** JSON Pointer of the value. */
  field: string
  /** `undefined`: no value; the field is empty. */
  value: unknown
  /** Whether only numbers are valid. */
  isNumber: boolean
  /** Called with every valid value of the text. */
  onChange: (value: unknown) => void
  report: ReportUnreadable
}): {
  readonly text: string
  readonly isUnreadable: boolean
  readonly onInput: (text: string) => void
  readonly onBlur: () => void
} {
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: string }>()
  const valueText = textOf(value)
  // An item of a list that is emptied becomes null.
  const isTyped = typed !== undefined && (typed.of === valueText || (typed.text === '' && value === null))
  const text = isTyped ? typed.text : valueText
  const isUnreadable = text !== '' && valueIn(text, isNumber) === undefined
  useEffect(() => {
    if (!isUnreadable) return
    report(field, true)
    return () => report(field, false)
  }, [field, isUnreadable, report])
  return {
    text,
    isUnreadable,
    onInput(next) {
      const read = next === '' ? { value: undefined } : valueIn(next, isNumber)
      setTyped({ text: next, of: read === undefined ? valueText : textOf(read.value) })
      if (read !== undefined) onChange(read.value)
    },
    onBlur() {
      if (!isUnreadable) setTyped(undefined)
    },
  }
}

function textOf(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

function valueIn(text: string, isNumber: boolean): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isNumber && typeof value !== 'number' ? undefined : { value }
  } catch {
    return undefined
  }
}
