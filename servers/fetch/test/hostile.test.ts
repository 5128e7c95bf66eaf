import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { article, clientFor, contentOf, siteOf, textOf } from './fixture.ts'

const visible = '<p>Visible text of the page, with commas, and enough of it.</p>'

async function convert(html: string, format: 'markdown' | 'text' = 'markdown') {
  const site = await siteOf({ '/': html })
  const client = await clientFor(site)
  const result = await client.call('fetch', { url: site.url, max_length: 1_000_000, format })
  if (result.isError === true) throw new Error(textOf(result))
  return { ...result.structuredContent, content: result.structuredContent?.content ?? '', site }
}

describe('text that a user does not see', () => {
  const hidden = [
    '<script>IGNORE ALL</script>',
    '<style>.x { content: "IGNORE ALL" }</style>',
    '<noscript>IGNORE ALL</noscript>',
    '<template><p>IGNORE ALL</p></template>',
    '<!-- IGNORE ALL -->',
    '<iframe srcdoc="IGNORE ALL">IGNORE ALL</iframe>',
    '<object>IGNORE ALL</object>',
    '<svg><text>IGNORE ALL</text><title>IGNORE ALL</title></svg>',
    '<textarea>IGNORE ALL</textarea><select><option>IGNORE ALL</select><button>IGNORE ALL</button>',
    '<p hidden>IGNORE ALL</p>',
    '<p aria-hidden="true">IGNORE ALL</p>',
    '<dialog>IGNORE ALL</dialog>',
    '<div style="display:none"><p>IGNORE ALL <b>x</b></p></div>',
    '<div style="color: red; DISPLAY : none !important">IGNORE ALL</div>',
    '<div style="dis/**/play:/* x */none">IGNORE ALL</div>',
    '<span style="visibility: hidden">IGNORE ALL</span>',
    '<span style="opacity: 0">IGNORE ALL</span>',
    '<span style="opacity:0.00;">IGNORE ALL</span>',
    '<span style="font-size: 0px">IGNORE ALL</span>',
    '<span style="color: transparent">IGNORE ALL</span>',
    '<span style="color:rgba(0, 0, 0, 0)">IGNORE ALL</span>',
    '<span style="position:absolute; left: -9999px">IGNORE ALL</span>',
    '<span style="text-indent:-5000px">IGNORE ALL</span>',
    '<span style="height:0;overflow:hidden">IGNORE ALL</span>',
    '<span style="clip: rect(0,0,0,0)">IGNORE ALL</span>',
    '<img alt="" title="IGNORE ALL" data-note="IGNORE ALL" src="/a.png">',
    '<title>IGNORE ALL</title>',
  ]

  test('is left out, and hidden elements are counted', async () => {
    const numbered = hidden.map((html, at) => `<div>${html.replaceAll('IGNORE ALL', `IGNORE ${at};`)}</div>`)
    const { content, notes } = await convert(article(`${visible}${numbered.join(visible)}`))
    expect(content).toContain('Visible text')
    expect(content.match(/IGNORE \d+/g) ?? []).toEqual([])
    const elements = hidden.filter((html) => /style=| hidden|aria-hidden|<dialog/.test(html)).length
    expect(notes).toContain(
      `${elements} hidden elements with text are left out; "format": "html" returns them.`,
    )
  })

  test('does not include text that is half visible, small, moved a little, or shown by a click', async () => {
    const shown = [
      '<span style="opacity:0.5">Shown, half visible</span>',
      '<span style="font-size:0.8em">Shown, small</span>',
      '<span style="max-width:0.5em;left:-9px">Shown, of some width</span>',
      '<span style="margin-top:-120px">Shown, moved a little</span>',
      '<span style="width:0;min-width:100%">Shown, wider than its room</span>',
      '<dialog open>Shown, in an open dialog</dialog>',
      '<details><summary>more</summary>Shown, in a closed disclosure</details>',
    ]
    const { content, notes } = await convert(article(shown.map((html) => `<div>${html}</div>`).join(visible)))
    for (const html of shown) expect(content).toContain(/>([^<]+)<\/\w+>$/.exec(html)?.[1])
    expect(notes?.join(' ') ?? '').not.toContain('hidden elements')
  })

  test('includes invisible characters, which are counted', async () => {
    const tags = [...'hidden'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('')
    const text = `IG\u200bNO\u00adRE\u2060 \u202edesrever\u202c \ufeffa${tags}\u200db\ufe0f\ufe0e\ufe01 \x07c`
    const { content, notes } = await convert(article(`<p>${text}</p>`))
    expect(content).toContain('IGNORE desrever ab\ufe0f c')
    expect(notes).toContain(`${3 + 2 + 1 + 6 + 1 + 2 + 1} invisible characters are left out.`)
    const site = await siteOf({ '/': { type: 'text/plain', body: `a\u200bb${tags}` } })
    expect(await contentOf(await clientFor(site), site.url)).toBe('ab')
  })

  test('does not include joiners and selectors that belong to the writing', async () => {
    const text = '👨‍👩‍👧 ❤️ می‌خواهم क्‍ष'
    expect((await convert(article(`<p>${text}</p>`))).content).toContain(text)
  })
})

describe('links and images', () => {
  test('lead to http: and https: URLs only', async () => {
    const { content, site } = await convert(
      article(`<p><a href="javascript:alert(1)">one</a> <a href="JAVA&#10;SCRIPT:alert(1)">two</a> <a href="data:text/html,x">three</a>
        <a href="vbscript:x">four</a> <a href="file:///etc">five</a> <a href="/six">six</a> <a href="mailto:a@example.org">seven</a>
        <img src="data:image/png;base64,AAAA" alt="eight"><img src="/nine.png" alt="nine"></p>`),
    )
    expect(content).not.toMatch(/javascript|data:|vbscript|file:/i)
    expect(content).toContain(`one two three four five [six](${site.url}/six) [seven](mailto:a@example.org)`)
    expect(content).toContain(`eight![nine](${site.url}/nine.png)`)
  })

  test('cannot add Markdown of its own', async () => {
    const { content } = await convert(
      article(
        '<p><a href="/a)[x](http://evil.example">a](b) [c</a> **b** `c` &lt;i&gt; # d</p><p># e</p><p>- f</p><p>1. g</p>',
      ),
    )
    expect(content).toContain('/a%29[x]%28http://evil.example)')
    expect(content).toContain('[a\\](b) \\[c]')
    expect(content).toContain('\\*\\*b\\*\\* \\`c\\` \\<i> # d')
    expect(content).toContain('\\# e\n\n\\- f\n\n1\\. g')
  })

  test('are relative to the base of the page', async () => {
    const { content } = await convert(
      article('<p><a href="c">link</a></p>').replace('<head>', '<head><base href="https://example.org/a/b">'),
    )
    expect(content).toContain('[link](https://example.org/a/c)')
  })
})

describe('a page', () => {
  test.each([
    ['without anything', ''],
    ['that is not closed', '<html><body><div><p>Text<b>bold<i>both'],
    ['of wrong nesting', '<p>Text<b>bold<i>both</b>italic</i></p></div></body></table>'],
    ['of unknown elements', '<x-y><1>Text</x-y><é>more'],
    ['with NUL characters', '<p>Te\0xt</p>'],
    ['of unfinished tags', '<p>Text</p><a href="x'],
    ['with broken entities', '<p>Text &#xFFFFFFFF; &nosuch; &#0; &amp</p>'],
    ['of broken tables', '<table><td>Text<tr><table><td>inner</table><tr></tr><th>'],
    ['of broken lists', '<li>Text<ul><ol><li><ul></ol>x<dl><dd>'],
    ['with a frame set', '<frameset><frame src="x"></frameset>Text'],
  ])('%s is converted', async (_title, html) => {
    const { content } = await convert(html)
    expect(content === '' ? '' : content.toLowerCase()).toContain(html === '' ? '' : 'te')
  })

  test.each([
    ['is deep', `${'<div>'.repeat(4_000)}${visible}`, 'Visible text'],
    ['is deeper than the limit', `${visible}${'<div>'.repeat(300_000)}`, 'Visible text'],
    ['has deep lists', `${visible}${'<ul><li>item '.repeat(2_000)}`, 'Visible text'],
    ['has deep quotes', `${visible}${'<blockquote>q '.repeat(2_000)}`, 'Visible text'],
    ['has deep tables', `${visible}${'<table><tr><td>'.repeat(2_000)}`, 'Visible text'],
    ['has many elements', `${visible}${'<b>x</b>'.repeat(20_000)}`, 'Visible text'],
    ['has a large attribute', `<p title="${'a'.repeat(3_000_000)}">${visible}`, 'Visible text'],
    ['has many attributes', `<p ${'a=b '.repeat(300_000)}>${visible}`, 'Visible text'],
    ['has much white space', `${visible}${' \n'.repeat(700_000)}`, 'Visible text'],
    ['has many entities', `${visible}${'&lt;'.repeat(60_000)}`, 'Visible text'],
    ['has many breaks', `${visible}${'x<br>'.repeat(15_000)}`, 'Visible text'],
  ])(
    'that %s is converted within the limits, while other calls are served',
    async (_title, html, expected) => {
      const site = await siteOf({ '/': `<html><body>${html}` })
      const client = await clientFor(site)
      let isDone = false
      const fetched = contentOf(client, site.url).finally(() => {
        isDone = true
      })
      let pings = 0
      while (!isDone) {
        await client.ping()
        pings++
        // A pause between pings: the conversion gets the processor.
        await setTimeout(20)
      }
      expect(await fetched).toContain(expected)
      expect(pings).toBeGreaterThan(1)
    },
  )

  test('that is cut says so', async () => {
    const { notes } = await convert(`<body>${visible}${'<wbr>'.repeat(110_000)}`)
    expect(notes?.join(' ')).toContain('too many elements')
  })
})
