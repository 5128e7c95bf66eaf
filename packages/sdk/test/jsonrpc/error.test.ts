import { ErrorCode, RpcError } from '@jackfield/sdk'
import { expect, it } from 'vitest'

it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])('an error cannot have the code %s', (code) => {
  expect(() => new RpcError(code, 'no')).toThrow(/integer/)
})

it('every code is defined by the specification or outside the reserved range', () => {
  const defined = new Set([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32002, -32042])
  const own = Object.values(ErrorCode).filter((code) => !defined.has(code))
  expect(own.filter((code) => code >= -32768 && code <= -32000)).toEqual([])
})
