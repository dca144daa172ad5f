// A JSON schema as people read it: references followed, every field with its type, and an example where none is given.
import { make } from "/static/shell.js";

const DEEPEST = 5;

export function reader(spec) {
  const resolve = (schema) => (schema?.$ref ? { ...spec.components.schemas[schema.$ref.split("/").pop()], named: schema.$ref.split("/").pop() } : schema ?? {});
  const choices = (schema) => (schema.anyOf ?? schema.oneOf ?? []).map(resolve).filter((one) => one.type !== "null");

  // In words: "text", "list of Item", "number, at least 0".
  function kind(given) {
    const schema = resolve(given), several = choices(schema);
    if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
    if ("const" in schema) return JSON.stringify(schema.const);
    if (several.length) return [...new Set(several.map(kind))].join(" or ") + ((schema.anyOf ?? []).some((one) => one.type === "null") ? ", or null" : "");
    if (schema.type === "array") return schema.items ? `list of ${kind(schema.items)}` : "list";
    if (schema.type === "object" && !schema.properties) return schema.additionalProperties ? `${kind(schema.additionalProperties)} by name` : "object";
    const least = schema.minimum ?? schema.exclusiveMinimum, most = schema.maximum ?? schema.exclusiveMaximum;
    const bounds = [least != null ? `from ${least}` : "", most != null ? `to ${most}` : "", schema.maxLength ? `at most ${schema.maxLength} characters` : ""].filter(Boolean).join(" ");
    const word = { string: "text", integer: "whole number", number: "number", boolean: "true or false", null: "null" }[schema.type] ?? schema.named ?? schema.type ?? "anything";
    return bounds ? `${word} (${bounds})` : word;
  }

  // The object whose fields are listed: itself, what a list holds, or the one choice that has fields.
  function inner(given) {
    const schema = resolve(given);
    if (schema.properties) return schema;
    if (schema.type === "array") return schema.items ? inner(schema.items) : null;
    return choices(schema).map(inner).find(Boolean) ?? null;
  }

  function fields(given, depth = 0) {
    const schema = inner(given);
    if (!schema || depth > DEEPEST) return null;
    const required = new Set(schema.required ?? []);
    return make("dl", { class: "shape" }, ...Object.entries(schema.properties).flatMap(([name, one]) => {
      const below = inner(one) === schema ? null : fields(one, depth + 1);
      return [make("dt", {}, make("code", {}, name), required.has(name) ? make("span", { class: "note" }, " required") : null), make("dd", {}, kind(one), below)];
    }));
  }

  function sample(given, depth = 0) {
    const schema = resolve(given);
    if ("const" in schema) return schema.const;
    if (schema.enum) return schema.enum[0];
    if (schema.default !== undefined && schema.default !== null && depth) return schema.default;
    const several = choices(schema);
    if (several.length) return sample(several[0], depth);
    if (schema.properties) return depth > DEEPEST ? {} : Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, sample(one, depth + 1)]));
    if (schema.type === "array") return schema.items && depth <= DEEPEST ? [sample(schema.items, depth + 1)] : [];
    return { string: "text", integer: 1, number: 0.5, boolean: true, object: {} }[schema.type] ?? null;
  }
  return { fields, sample, kind, resolve };
}
