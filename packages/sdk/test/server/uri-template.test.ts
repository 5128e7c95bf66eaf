import { McpError, parseTemplate, type TemplateVariables } from '@jackfield/sdk'
import fc from 'fast-check'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { cpuMsOf } from '../../../../test/setup/cpu.ts'

/** Values of RFC 6570 section 3.2. */
const values = {
  count: ['one', 'two', 'three'],
  dom: ['example', 'com'],
  dub: 'me/too',
  hello: 'Hello World!',
  half: '50%',
  var: 'value',
  who: 'fred',
  base: 'http://example.com/home/',
  path: '/foo/bar',
  list: ['red', 'green', 'blue'],
  keys: { semi: ';', dot: '.', comma: ',' },
  v: '6',
  x: '1024',
  y: '768',
  empty: '',
  empty_keys: [],
}

describe('expansion', () => {
  test.each([
    ['{count}', 'one,two,three'],
    ['{count*}', 'one,two,three'],
    ['{/count}', '/one,two,three'],
    ['{/count*}', '/one/two/three'],
    ['{;count}', ';count=one,two,three'],
    ['{;count*}', ';count=one;count=two;count=three'],
    ['{?count}', '?count=one,two,three'],
    ['{?count*}', '?count=one&count=two&count=three'],
    ['{&count*}', '&count=one&count=two&count=three'],
    ['{hello}', 'Hello%20World%21'],
    ['{half}', '50%25'],
    ['O{empty}X', 'OX'],
    ['O{undef}X', 'OX'],
    ['{x,y}', '1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['?{x,empty}', '?1024,'],
    ['?{x,undef}', '?1024'],
    ['{var:3}', 'val'],
    ['{var:30}', 'value'],
    ['{list}', 'red,green,blue'],
    ['{keys}', 'semi,%3B,dot,.,comma,%2C'],
    ['{keys*}', 'semi=%3B,dot=.,comma=%2C'],
    ['{+var}', 'value'],
    ['{+hello}', 'Hello%20World!'],
    ['{+half}', '50%25'],
    ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
    ['{+base}index', 'http://example.com/home/index'],
    ['{+path}/here', '/foo/bar/here'],
    ['here?ref={+path}', 'here?ref=/foo/bar'],
    ['{+path,x}/here', '/foo/bar,1024/here'],
    ['{+path:6}/here', '/foo/b/here'],
    ['{+keys}', 'semi,;,dot,.,comma,,'],
    ['{+keys*}', 'semi=;,dot=.,comma=,'],
    ['{#var}', '#value'],
    ['{#half}', '#50%25'],
    ['foo{#empty}', 'foo#'],
    ['foo{#undef}', 'foo'],
    ['{#path:6}/here', '#/foo/b/here'],
    ['{#keys*}', '#semi=;,dot=.,comma=,'],
    ['{.who,who}'.replace(',who', ''), '.fred'],
    ['{.half,who}', '.50%25.fred'],
    ['www{.dom*}', 'www.example.com'],
    ['X{.empty_keys}', 'X'],
    ['X{.empty_keys*}', 'X'],
    ['X{.keys*}', 'X.semi=%3B.dot=..comma=%2C'],
    ['{/half,who}', '/50%25/fred'],
    ['{/var,empty}', '/value/'],
    ['{/var:1,who}', '/v/fred'],
    ['{/list*,path:4}', '/red/green/blue/%2Ffoo'],
    ['{/keys*}', '/semi=%3B/dot=./comma=%2C'],
    ['{;v,empty,who}', ';v=6;empty;who=fred'],
    ['{;hello:5}', ';hello=Hello'],
    ['{;keys*}', ';semi=%3B;dot=.;comma=%2C'],
    ['{?x,y,empty}', '?x=1024&y=768&empty='],
    ['{?x,y,undef}', '?x=1024&y=768'],
    ['{?var:3}', '?var=val'],
    ['{?keys}', '?keys=semi,%3B,dot,.,comma,%2C'],
    ['{?keys*}', '?semi=%3B&dot=.&comma=%2C'],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
    ['é/{var}', '%C3%A9/value'],
  ])('%s is %s', (template, uri) => {
    expect(parseTemplate(template).expand(values)).toBe(uri)
  })

  test('does not read members of the prototype', () => {
    expect(parseTemplate('x:{constructor}{toString}').expand({})).toBe('x:')
  })
})

describe('matching', () => {
  test.each<[string, string, Record<string, unknown> | undefined]>([
    ['test://template/{id}/data', 'test://template/123/data', { id: '123' }],
    ['test://template/{id}/data', 'test://template//data', undefined],
    ['test://template/{id}/data', 'test://template/1/2/data', undefined],
    ['test://template/{id}/data', 'test://template/1/data/', undefined],
    ['file:///{+path}', 'file:///a/b/c.txt', { path: 'a/b/c.txt' }],
    ['file://{/segments*}', 'file:///a/b%2Fc', { segments: ['a', 'b/c'] }],
    ['file://{/segments*}', 'file://', { segments: [] }],
    ['user://{name}', 'user://bob@example.com', { name: 'bob@example.com' }],
    ['user://{name}', 'user://%C3%A9%20x', { name: 'é x' }],
    ['user://{name}', 'user://é', { name: 'é' }],
    ['é://{name}', 'é://x', { name: 'x' }],
    ['user://{name}', 'user://a?b', undefined],
    ['user://{name}', 'user://a#b', undefined],
    ['user://{name}', 'user://%zz', undefined],
    ['user://{name}', 'user://%C3', undefined],
    ['user://{name}', 'user://\ud800', undefined],
    ['{a}-{b}', 'x-y-z', { a: 'x-y', b: 'z' }],
    ['x:{name}{.ext}', 'x:a.b.txt', { name: 'a.b', ext: 'txt' }],
    ['x:{a,b}', 'x:1,2', { a: '1', b: '2' }],
    ['x:{a,b}', 'x:1', undefined],
    ['x:{a,b}', 'x:1,2,3', undefined],
    ['x:{list*}', 'x:1,2,3', { list: ['1', '2', '3'] }],
    ['x:{first,rest*}', 'x:1,2,3', { first: '1', rest: ['2', '3'] }],
    ['x:{first,rest*}', 'x:1', { first: '1', rest: [] }],
    ['x:{a:1}{b}', 'x:123', { a: '1', b: '23' }],
    ['x:{a:2}', 'x:123', undefined],
    ['x:{a:2}', 'x:%C3%A91', { a: 'é1' }],
    ['x:{a:1}', 'x:💩', { a: '💩' }],
    ['s://q{?a,b}', 's://q', {}],
    ['s://q{?a,b}', 's://q?b=2&a=1', { a: '1', b: '2' }],
    ['s://q{?a,b}', 's://q?a=', { a: '' }],
    ['s://q{?a,b}', 's://q?c=1', undefined],
    ['s://q{?a,b}', 's://q?a=1&a=2', undefined],
    ['s://q{?a:1}', 's://q?a=12', undefined],
    ['s://q{?list*}', 's://q?list=1&list=2', { list: ['1', '2'] }],
    ['s://q{?list*}', 's://q', { list: [] }],
    ['s://q?fixed=1{&a}', 's://q?fixed=1&a=x%26y', { a: 'x&y' }],
    ['s://q{;a}', 's://q;a=1', { a: '1' }],
    ['s://q{#part}', 's://q#top/x', { part: 'top/x' }],
    ['s://q{#part}', 's://q', {}],
    ['s://{host}{/path*}{?q}', 's://h/a/b?q=1', { host: 'h', path: ['a', 'b'], q: '1' }],
    ['s://{+a}/{+b}/end', 's://1/2/3/end', { a: '1/2', b: '3' }],
    ['plain://x', 'plain://x', {}],
    ['plain://x', 'plain://y', undefined],
    ['x:{__proto__}', 'x:1', JSON.parse('{"__proto__":"1"}')],
  ])('%s against %s', (template, uri, variables) => {
    expect(parseTemplate(template).match(uri)).toEqual(variables)
  })

  test('returns the expanded variables, for any characters', () => {
    const text = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => value.isWellFormed())
    fc.assert(
      fc.property(text, text, text, fc.array(text, { minLength: 1 }), (a, b, q, path) => {
        const template = parseTemplate('s://{a}/{b}/x{/path*}{?q}{#f}')
        const variables = { a, b, q, path }
        expect(template.match(template.expand(variables))).toEqual(variables)
      }),
      { numRuns: 2000 },
    )
  })

  test('agrees with expansion whenever it matches at all', () => {
    const template = fc
      .array(fc.constantFrom('{a}', '{+b}', '{c:2}', '{.d}', '{/e*}', '{#f}', '/', '.', '-', 'x', 'x/'), {
        minLength: 1,
        maxLength: 6,
      })
      .map((parts) => `s:${[...new Set(parts)].join('')}`)
    const uri = fc.string({ unit: fc.constantFrom('a', 'x', '/', '.', '-', '#', '%20'), maxLength: 12 })
    fc.assert(
      fc.property(template, uri, (source, rest) => {
        const parsed = parseTemplate(source)
        const variables = parsed.match(`s:${rest}`)
        if (variables !== undefined)
          expect(decodeURIComponent(parsed.expand(variables))).toBe(decodeURIComponent(`s:${rest}`))
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    ['x://{+a}/{+b}/{+c}/end', '/'],
    ['x://{+a}{+b}{+c}{+d}', '/'],
    ['x://{a}{b}{c}{d}/end', 'a'],
    ['x://{/a*}{/b*}{/c*}end', '/a'],
    ['x://{a:500}{b:500}{c:500}/end', '%20'],
    ['x://{?a,b,c}{&d,e}', '&a=1'],
  ])('%s takes time linear in the URI', async (source, unit) => {
    const template = parseTemplate(source)
    const least = async (length: number, times: number): Promise<number> => {
      const uri = `x://${unit.repeat(length / unit.length)}!`
      const matched = (): void => {
        for (let time = 0; time < times; time++) template.match(uri)
      }
      matched()
      const elapsedMs = [await cpuMsOf(matched), await cpuMsOf(matched), await cpuMsOf(matched)]
      return Math.max(1, Math.min(...elapsedMs))
    }
    // As many characters either way: as much work where time is linear, 8 times as much where it is quadratic.
    expect((await least(65_536, 10)) / (await least(8192, 80))).toBeLessThan(4)
  })
})

describe('invalid templates', () => {
  test.each([
    ['x:{a', 'does not close the expression at 2'],
    ['x:a}', 'closes an expression at 3 that it did not open'],
    ['x:{}', 'does not name a variable'],
    ['x:{a b}', 'does not name a variable'],
    ['x:{a,}', 'does not name a variable'],
    ['x:{a:0}', 'does not name a variable'],
    ['x:{a:10000}', 'does not name a variable'],
    ['x:{a*:3}', 'does not name a variable'],
    ['x:{=a}', 'whose operator "=" is reserved'],
    ['x:{!a}', 'whose operator "!" is reserved'],
    ['x:{a}{a}', 'uses the variable "a" twice'],
    ['x: {a}', 'has a character that no URI may have'],
    ['x:%zz', 'has a "%" without two hexadecimal digits'],
  ])('%s', (source, why) => {
    expect(() => parseTemplate(source)).toThrow(McpError)
    expect(() => parseTemplate(source)).toThrow(why)
  })
})

test('a template has at most 2048 characters', () => {
  expect(parseTemplate(`x:${'a'.repeat(2046)}`).names).toEqual([])
  expect(() => parseTemplate(`x:${'a'.repeat(2047)}`)).toThrow('at most 2048 characters')
})

test('the type of a template contains its variables', () => {
  expectTypeOf<TemplateVariables<'weather://{city}/{day:10}'>>().toEqualTypeOf<{
    city: string
    day: string
  }>()
  expectTypeOf<TemplateVariables<'file://{+path}'>>().toEqualTypeOf<{ path: string }>()
  expectTypeOf<TemplateVariables<'file://{/segments*}'>>().toEqualTypeOf<{ segments: string[] }>()
  expectTypeOf<TemplateVariables<'s://q{?a,b}{#part}'>>().toEqualTypeOf<{
    a?: string
    b?: string
    part?: string
  }>()
  expectTypeOf<TemplateVariables<'s://{a,b*}{?c,d*}'>>().toEqualTypeOf<{
    a: string
    b: string[]
    c?: string
    d: string[]
  }>()
  expectTypeOf<TemplateVariables<'plain://x'>>().toEqualTypeOf<Record<never, string>>()
  expectTypeOf<TemplateVariables<string>>().toEqualTypeOf<Record<string, string | string[] | undefined>>()
})
