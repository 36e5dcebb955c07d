/** A page of PDF that holds one picture. Pure: bytes in, bytes out (PDF 1.4, section 8.9: an image with the DCTDecode filter is a JPEG as it is). */

/** `width` and `height` in pixels of the page (96 an inch); the JPEG may have more. */
export function pdfOf(jpeg: Uint8Array, pixels: [number, number], width: number, height: number): Uint8Array<ArrayBuffer> {
  const w = (width * 0.75).toFixed(2), h = (height * 0.75).toFixed(2), content = `q ${w} 0 0 ${h} 0 0 cm /I Do Q`;
  const encoder = new TextEncoder(), chunks: Uint8Array[] = [], offsets: number[] = [];
  let length = 0;
  const put = (data: string | Uint8Array): void => { const bytes = typeof data === 'string' ? encoder.encode(data) : data; chunks.push(bytes); length += bytes.length; };
  const object = (dictionary: string, stream?: string | Uint8Array): void => {
    offsets.push(length);
    put(`${offsets.length} 0 obj\n${dictionary}\n`);
    if (stream !== undefined) { put('stream\n'); put(stream); put('\nendstream\n'); }
    put('endobj\n');
  };
  put('%PDF-1.4\n');
  object('<< /Type /Catalog /Pages 2 0 R >>');
  object('<< /Type /Pages /Kids [3 0 R] /Count 1 >>');
  object(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${w} ${h}] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>`);
  object(`<< /Length ${content.length} >>`, content);
  object(`<< /Type /XObject /Subtype /Image /Width ${pixels[0]} /Height ${pixels[1]} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode /Length ${jpeg.length} >>`, jpeg);
  const start = length;
  put(`xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${offsets.map(o => `${String(o).padStart(10, '0')} 00000 n \n`).join('')}trailer\n<< /Size ${offsets.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`);
  const out = new Uint8Array(length);
  let at = 0;
  for (const c of chunks) { out.set(c, at); at += c.length; }
  return out;
}
