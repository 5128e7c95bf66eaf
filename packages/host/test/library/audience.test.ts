import { expect, test } from 'vitest'
import { forModel, isForPersonOnly } from '../../src/shared/audience.ts'

test('only an audience of the user alone hides content from models', () => {
  expect(isForPersonOnly({ audience: ['user'] })).toBe(true)
  for (const annotations of [undefined, {}, { audience: [] }, { audience: ['user', 'assistant'] }] as const) {
    expect(
      isForPersonOnly(annotations && { ...annotations, audience: [...(annotations.audience ?? [])] }),
    ).toBe(false)
  }
})

test('content for the user alone is removed from a result, with a note', () => {
  const secret = { type: 'text' as const, text: '{"pin":1234}', annotations: { audience: ['user' as const] } }
  const open = { type: 'text' as const, text: 'done', annotations: { audience: ['assistant' as const] } }
  expect(forModel({ content: [open] })).toEqual({ content: [open] })
  expect(forModel({ content: [secret, open], structuredContent: { pin: 1234 } })).toEqual({
    content: [
      open,
      { type: 'text', text: '[1 part of this result is for the person alone and not given to you]' },
    ],
  })
  expect(forModel({ content: [secret], structuredContent: { ok: true } }).structuredContent).toEqual({
    ok: true,
  })
})
