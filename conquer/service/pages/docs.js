import { begin, find, make } from "/static/shell.js";

await begin("API");
const spec = await (await fetch("/openapi.json")).json();
for (const [path, methods] of Object.entries(spec.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const body = operation.requestBody?.content?.["application/json"]?.schema;
    const name = body?.$ref?.split("/").pop();
    const shape = name ? spec.components.schemas[name] : body;
    find("routes").append(make("section", { class: "card" },
      make("div", { class: "path" }, make("span", { class: "method" }, method.toUpperCase()), path, " ",
        make("span", { class: "tag" }, operation["x-role"] === "none" ? "no key" : operation["x-role"])),
      make("p", { class: "note" }, operation.summary),
      shape ? make("details", {}, make("summary", {}, `Body: ${name ?? "JSON"}`), make("pre", {}, JSON.stringify(shape, null, 2))) : null,
    ));
  }
}
